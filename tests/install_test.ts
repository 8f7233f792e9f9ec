// Installs, uses, updates, downgrades and removes AgentCards as people do, out of a package and out of a clone, in an
// empty home with an empty cache and no Deno on the PATH. Run by `deno task test:install`.
import assert from "node:assert/strict";
import { join } from "node:path";
import { endProcess, ROOT, until } from "./fixtures/gateway.ts";

/** Registries, proxies and certificates are settings of the machine, not of the home. */
const MACHINE = Object.fromEntries(
  Object.entries(Deno.env.toObject()).filter(([name]) =>
    /^(npm_config_|https?_proxy$|no_proxy$)|cert|_ca_/i.test(name)
  ),
);
/** Another version of a package, as an update might bring it, with its checksum. */
const ZOD = {
  version: "4.6.6",
  integrity: "sha512-4UmzQUF5fxvfcYHlbjBmejU+w+hbDnWFx4aS8kBx7nPBHcO2SqPbpAG8snbdg+Xse4pRefR98hgjFgIMCI/UhA==",
};
const README = await Deno.readTextFile(`${ROOT}README.md`);
const NEXT = "0.3.0";
const VERSION: string = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`)).version;

/** A server without packages, with a tool that says in which process it runs. */
const SERVER = `
import { createInterface } from "node:readline";
const reply = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
const tools = [{
  name: "say_again",
  description: "Says a text again",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  annotations: { readOnlyHint: true },
}];
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") {
    const serverInfo = { name: "echo", version: "1" };
    reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
  } else if (method === "tools/list") reply(id, { tools });
  else if (method === "tools/call") reply(id, { content: [{ type: "text", text: params.arguments.text }] });
  else if (id !== undefined) reply(id, {});
});
`;

interface Place {
  readonly base: string;
  readonly home: string;
  /** Only what a machine with Node has: no Deno. */
  readonly PATH: string;
}

async function makePlace(): Promise<Place> {
  const base = await Deno.realPath(await Deno.makeTempDir({ prefix: "ac-install-" }));
  const [home, bin] = [join(base, "home"), join(base, "bin")];
  await Deno.mkdir(home);
  await Deno.mkdir(bin);
  for (const name of ["node", "npm", "npx", "sh", "env", "git", "tar", "nice", "bash", "rm", "dirname", "uname"]) {
    const { stdout } = await new Deno.Command("sh", { args: ["-c", `command -v ${name}`] }).output();
    const path = new TextDecoder().decode(stdout).trim();
    if (path) await Deno.symlink(await Deno.realPath(path), join(bin, name));
  }
  await Deno.writeTextFile(join(base, "server.mjs"), SERVER);
  return { base, home, PATH: bin };
}

async function removePlace({ base, home }: Place): Promise<void> {
  const pid = parseInt(await Deno.readTextFile(`${home}/.agentcards/engine.lock`).catch(() => ""));
  if (pid) await endProcess(pid);
  await Deno.remove(base, { recursive: true }).catch(() => {});
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run({ home, PATH }: Place, words: readonly string[], cwd = home): Promise<Ran> {
  const { code, stdout, stderr } = await new Deno.Command("env", {
    args: [...words],
    clearEnv: true,
    env: { ...MACHINE, HOME: home, PATH, NO_COLOR: "1", npm_config_update_notifier: "false" },
    cwd,
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

async function must(place: Place, words: readonly string[], cwd?: string): Promise<string> {
  const { code, out, err } = await run(place, words, cwd);
  assert.equal(code, 0, `${words.join(" ")} ended with ${code}:\n${out}\n${err}`);
  return out;
}

/** Runs a task of a checkout with this Deno, whatever the place has. */
async function task(checkout: string, args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args: [...args], cwd: checkout }).output();
  assert.ok(success, `${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

/** The files of eight clients, each with a server of its own name. */
async function writeClients({ base, home }: Place): Promise<Map<string, string>> {
  const server = (name: string) => ({ [name]: { command: "node", args: [join(base, "server.mjs")] } });
  const json = (key: string, name: string) => JSON.stringify({ theme: "dark", [key]: server(name) }, null, 2) + "\n";
  const files = new Map([
    [".claude.json", json("mcpServers", "one")],
    [".config/Claude/claude_desktop_config.json", json("mcpServers", "two")],
    [".cursor/mcp.json", json("mcpServers", "three")],
    [".config/Code/User/mcp.json", json("servers", "four")],
    [".codeium/windsurf/mcp_config.json", json("mcpServers", "five")],
    [".gemini/settings.json", json("mcpServers", "six")],
    [
      ".codex/config.toml",
      `model = "x"\n\n[mcp_servers.seven]\ncommand = "node"\nargs = ["${join(base, "server.mjs")}"]\n`,
    ],
    [".config/zed/settings.json", json("context_servers", "eight")],
  ]);
  for (const [path, text] of files) {
    await Deno.mkdir(join(home, path, ".."), { recursive: true });
    await Deno.writeTextFile(join(home, path), text);
  }
  return files;
}

interface Entry {
  readonly command: string;
  readonly args: string[];
  readonly env?: Record<string, string>;
}

/** An open window: a client that starts an entry as it stands in its file and knows nothing of this shell. */
async function openWindow(place: Place) {
  const { mcpServers } = JSON.parse(await Deno.readTextFile(join(place.home, ".claude.json")));
  const { command, args, env }: Entry = mcpServers.agentcards;
  const child = new Deno.Command(command, {
    args,
    cwd: "/",
    clearEnv: true,
    env: { HOME: place.home, PATH: place.PATH, ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const keyboard = child.stdin.getWriter();
  const waiting = new Map<number, (message: Record<string, unknown>) => void>();
  let last = 0;
  const reading = (async () => {
    let rest = "";
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const message of lines.map((line) => JSON.parse(line))) waiting.get(message.id)?.(message);
    }
  })();
  const say = (message: Record<string, unknown>) =>
    keyboard.write(new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n"));
  async function ask(method: string, params: Record<string, unknown>): Promise<unknown> {
    const id = ++last;
    const answer = new Promise<Record<string, unknown>>((resolve) => waiting.set(id, resolve));
    await say({ id, method, params });
    const { result, error } = await answer;
    assert.equal(error, undefined, JSON.stringify(error));
    return result;
  }
  await ask("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "install", version: "1" },
  });
  await say({ method: "notifications/initialized" });
  return {
    command,
    /** Calls one of our tools and gives the text of its answer. */
    async call(name: string, input: Record<string, unknown>): Promise<string> {
      const { content, isError } = await ask("tools/call", { name, arguments: input }) as {
        content: { text: string }[];
        isError?: boolean;
      };
      assert.ok(isError !== true, `${content[0]?.text}`);
      return content.map(({ text }) => text).join("\n");
    },
    async close(): Promise<void> {
      await keyboard.close().catch(() => {});
      await child.status;
      await reading;
    },
  };
}

type Window = Awaited<ReturnType<typeof openWindow>>;

const sayAgain = (window: Window, text: string) =>
  window.call("call_tool", { tool: "one:say_again", arguments: { text } });

async function engineOf({ home }: Place): Promise<number> {
  return parseInt(await Deno.readTextFile(`${home}/.agentcards/engine.lock`).catch(() => "")) || 0;
}

/** Waits until another engine is at work; nothing is called meanwhile. */
async function handedOver(place: Place, before: number): Promise<void> {
  await until("another engine", async () => ![0, before].includes(await engineOf(place)), 60_000);
}

async function initialise(place: Place, agentcards: string): Promise<void> {
  await must(place, [agentcards, "init", "--yes"]);
  for (const path of [".cursor/mcp.json", ".codex/config.toml", ".config/zed/settings.json"]) {
    assert.match(await Deno.readTextFile(join(place.home, path)), /agentcards/, path);
  }
}

/** Everything of the product that a package could lack. */
async function useAll(window: Window): Promise<void> {
  assert.equal(await sayAgain(window, "hello"), "hello");
  assert.match(await window.call("search_tools", { query: "repeat words" }), /say_again/);
  assert.match(await window.call("execute_code", { code: "const n: number = 6; return n * 7" }), /42/);
  const checked = { typecheck: true };
  const tasks = [
    { id: "a", tool: "one:say_again", arguments: { text: "abc" } },
    { id: "b", type: "code_execution", code: "return String(deps.a.output).length", depends_on: ["a"] },
  ];
  assert.match(await window.call("run_workflow", { tasks }), /"status":\s*"completed"[^]*"b":\s*3/);
  await assert.rejects(
    window.call("execute_code", { code: "const n: number = 'x'; return n", options: checked }),
    /not assignable/,
  );
}

/** The next version: another number, another version of a package, a database that is changed. */
async function makeNext(base: string): Promise<string> {
  const next = join(base, "next");
  await Deno.mkdir(next);
  const copied = await new Deno.Command("sh", {
    args: [
      "-c",
      `git ls-files -co --exclude-standard | while read -r f; do [ -e "$f" ] && cp --parents "$f" "$0"; done; cp -al node_modules "$0" && rm -f "$0"/node_modules/.deno/.setup-cache.bin "$0"/node_modules/.deno/.deno.lock`,
      next,
    ],
    cwd: ROOT,
  }).output();
  assert.ok(copied.success, new TextDecoder().decode(copied.stderr));
  const edit = async (path: string, change: (text: string) => string) =>
    await Deno.writeTextFile(join(next, path), change(await Deno.readTextFile(join(next, path))));
  const was = /npm:zod@([\d.]+)"/.exec(await Deno.readTextFile(`${ROOT}deno.json`))![1]!;
  const bump = (text: string) =>
    text.replaceAll(`zod@${was}`, `zod@${ZOD.version}`).replaceAll(`"${was}"`, `"${ZOD.version}"`);
  await edit("deno.json", (text) => bump(text).replace(`"version": "${VERSION}"`, `"version": "${NEXT}"`));
  const checksum = new RegExp(`("zod@${ZOD.version.replaceAll(".", "\\.")}": \\{\\s*"integrity": )"[^"]*"`);
  await edit("deno.lock", (text) => bump(text).replace(checksum, `$1"${ZOD.integrity}"`));
  const migrations = (await Array.fromAsync(Deno.readDir(join(next, "src/db/migrations")))).length;
  const number = String(migrations + 1).padStart(3, "0");
  await Deno.writeTextFile(
    join(next, `src/db/migrations/${number}_next.sql`),
    "create table next_version (n integer);\n",
  );
  await task(next, ["task", "package-json"]);
  await task(next, ["install", "--frozen", "--quiet"]);
  return next;
}

async function packed(checkout: string, out: string): Promise<string> {
  await task(checkout, ["run", "-A", "packaging/pack.ts", "--out", out]);
  const [{ name }] = await Array.fromAsync(Deno.readDir(out)) as [Deno.DirEntry];
  return join(out, name);
}

/** What lies in a home after everything was removed that the README names. */
async function leftOver({ home }: Place): Promise<string[]> {
  for (const named of [".agentcards", ".cache/deno", ".npm"]) {
    await Deno.remove(join(home, named), { recursive: true }).catch(() => {});
  }
  const found: string[] = [];
  const visit = async (path: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(join(home, path))) {
      if (isDirectory) await visit(join(path, name));
      else found.push(join(path, name));
    }
  };
  await visit("");
  return found.sort();
}

async function requireAsBefore(place: Place, clients: ReadonlyMap<string, string>): Promise<void> {
  for (const [path, text] of clients) assert.equal(await Deno.readTextFile(join(place.home, path)), text, path);
  assert.deepEqual(await leftOver(place), [...clients.keys()].sort());
}

Deno.test("a package: install, init, use, update, downgrade, uninstall", async (test) => {
  const place = await makePlace();
  const prefix = join(place.base, "prefix");
  const agentcards = join(prefix, "bin/agentcards");
  const install = (file: string) => must(place, ["npm", "install", "-g", "--no-fund", "--prefix", prefix, file]);
  const open: { window?: Window | undefined } = {};
  let [file, next] = ["", ""];
  let clients = new Map<string, string>();
  try {
    await test.step("pack this version and the next one", async () => {
      file = await packed(ROOT, join(place.base, "this"));
      next = await packed(await makeNext(place.base), join(place.base, "then"));
      clients = await writeClients(place);
    });
    await test.step("npm installs it without Deno, and the launcher answers", async () => {
      assert.equal((await run(place, ["deno", "--version"])).code, 127, "there is no Deno");
      assert.doesNotMatch(await install(file), /script/);
      assert.equal(await must(place, [agentcards, "--version"]), `${VERSION}\n`);
      assert.match(await must(place, [agentcards, "--help"]), /Usage: agentcards/);
      assert.equal((await run(place, [agentcards, "nonsense"])).code, 2);
    });
    await test.step("a program in Node imports it", async () => {
      const home = join(place.base, "library");
      const servers = { one: { command: "node", args: [join(place.base, "server.mjs")] } };
      await Deno.mkdir(home);
      await Deno.writeTextFile(join(home, "config.yaml"), JSON.stringify({ servers }));
      const program = `import { openGateway } from "agentcards";
        const gateway = await openGateway({ home: ${JSON.stringify(home)} });
        console.log((await gateway.call("one:say_again", { text: "from Node" })).content[0].text);
        await gateway.close();`;
      await Deno.writeTextFile(join(prefix, "lib/use.mjs"), program);
      assert.match(await must(place, ["node", join(prefix, "lib/use.mjs")]), /from Node/);
      await Deno.remove(join(prefix, "lib/use.mjs"));
    });
    await test.step("init moves the servers of eight clients", () => initialise(place, agentcards));
    await test.step("the entry starts without the launcher, and everything works", async () => {
      open.window = await openWindow(place);
      assert.match(open.window.command, /\/deno$/);
      await useAll(open.window);
      await must(place, [agentcards, "status"]);
    });
    await test.step("an update with other packages: the window goes on in the new version", async () => {
      const before = await engineOf(place);
      await install(next);
      await handedOver(place, before);
      assert.equal(await sayAgain(open.window!, "still here"), "still here");
      assert.match(await must(place, [agentcards, "status"]), new RegExp(`version ${NEXT}`));
      await open.window!.call("run_workflow", {
        tasks: [{ id: "a", tool: "one:say_again", arguments: { text: "x" } }],
      });
    });
    await test.step("a downgrade: it works without the database, says so, and restore goes back", async () => {
      const before = await engineOf(place);
      await install(file);
      await handedOver(place, before);
      assert.equal(await sayAgain(open.window!, "without"), "without");
      let said = "";
      await until("status tells about the database", async () => {
        said = (await run(place, [agentcards, "status"])).out;
        return said.includes("schema version");
      });
      assert.match(said.replace(/\s+/g, " "), new RegExp(`restore --before ${NEXT}`));
      const restore = [agentcards, "restore", "--before", NEXT];
      const refused = await run(place, restore);
      assert.equal(refused.code, 1);
      assert.match(refused.out, /workflow runs that began: 1/);
      await must(place, [...restore, "--yes"]);
      await must(place, [agentcards, "status"]);
      assert.equal(await sayAgain(open.window!, "back"), "back");
    });
    await test.step("uninstall: everything is as it was", async () => {
      await open.window!.close();
      open.window = undefined;
      await must(place, [agentcards, "init", "--undo", "--yes"]);
      await must(place, [agentcards, "engine", "stop"]);
      await must(place, ["npm", "rm", "-g", "--prefix", prefix, "agentcards"]);
      assert.deepEqual((await Array.fromAsync(Deno.readDir(join(prefix, "lib/node_modules")))).length, 0);
      await requireAsBefore(place, clients);
    });
  } finally {
    await open.window?.close();
    await removePlace(place);
  }
});

Deno.test("a clone: setup, init, use, setup again, uninstall", async (test) => {
  const place = await makePlace();
  const clone = join(place.base, "clone");
  const agentcards = join(place.home, ".local/bin/agentcards");
  const setup = () => must(place, ["npx", "-y", /deno@[\d.]+/.exec(README)![0], "task", "setup"], clone);
  const open: { window?: Window | undefined } = {};
  try {
    const clients = await writeClients(place);
    await test.step("setup does everything that is needed", async () => {
      await must(place, ["git", "clone", "-q", ROOT, clone]);
      await setup();
      assert.equal(await must(place, [agentcards, "--version"]), `${VERSION}\n`);
      await initialise(place, agentcards);
      open.window = await openWindow(place);
      await useAll(open.window);
    });
    await test.step("an edit reaches nothing that runs before setup; after it the window goes on", async () => {
      const main = join(clone, "main.ts");
      await Deno.writeTextFile(main, `${await Deno.readTextFile(main)}// changed\n`);
      const before = await engineOf(place);
      await must(place, [agentcards, "engine", "stop"]);
      assert.equal(await sayAgain(open.window!, "old"), "old");
      const old = await engineOf(place);
      assert.notEqual(old, before);
      await setup();
      await handedOver(place, old);
      assert.equal(await sayAgain(open.window!, "new"), "new");
    });
    await test.step("uninstall: everything is as it was", async () => {
      await open.window!.close();
      open.window = undefined;
      await must(place, [agentcards, "init", "--undo", "--yes"]);
      await must(place, [agentcards, "engine", "stop"]);
      await Deno.remove(agentcards);
      await requireAsBefore(place, clients);
    });
  } finally {
    await open.window?.close();
    await removePlace(place);
  }
});
