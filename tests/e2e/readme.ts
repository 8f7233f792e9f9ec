// deno task e2e:readme: types what the README and the pages it sends to for commands tell a person to type, line by line,
// in a fresh clone with an empty home and an empty cache. Exits 1 when a line fails; a line that this file does not know how
// to type fails, too.
import assert from "node:assert/strict";
import { parseArgs } from "node:util";
import { thisTerminal } from "../../src/cli/screen/terminal.ts";
import { endProcess, ROOT, sleep } from "../fixtures/gateway.ts";
import { withoutEscapes } from "../fixtures/terminal.ts";

const { out } = thisTerminal();
const { values } = parseArgs({ args: Deno.args, options: { demo: { type: "boolean" } } });
const base = await Deno.makeTempDir({ prefix: "ac-install-" });
const [clone, home] = [`${base}/clone`, `${base}/home`];
const PATH = `${home}/.local/bin:${Deno.env.get("PATH")}`;
const env = { PATH, HOME: home, TERM: "xterm", SHELL: "/bin/sh", NO_COLOR: "1", ...npmSettings() };
const LONGEST_MS = 180_000;
let lastRun = "";

/** Lines that are typed elsewhere, or by hand only, and why. */
const ELSEWHERE: readonly [RegExp, string][] = [
  [/ task test$/, "it runs all tests"],
  [/^claude mcp add/, "deno task e2e:claude does it"],
  [/^agentcards (?:login|logout) /, "it takes a server to sign in to: tests/flows/sign_in_test.ts has one"],
  [/^npm (?:install|rm) -g|^rm -r /, "it is for a package, or removes everything"],
  ...values.demo ? [] : [[/ task demo$/, "--demo does it"] as [RegExp, string]],
];

/** What stands for something of the reader's own. */
const MEANT: Readonly<Record<string, () => string>> = {
  "FILE.yaml": () => `${home}/hello.yaml`,
  RUN: () => lastRun,
  NAME: () => "hello",
  TOOL: () => "files:list_directory",
  FILE: () => `${home}/backup.tgz`,
  "cert.pem": () => `${home}/cert.pem`,
  "key.pem": () => `${home}/key.pem`,
};

interface Typed {
  readonly code: number;
  readonly said: string;
}

/** Types a line at a terminal; `answer` is typed when it asks, `until` ends a command that goes on for ever. */
async function type(line: string, { answer, until }: { answer?: string; until?: RegExp } = {}): Promise<Typed> {
  const child = new Deno.Command("script", {
    args: ["-qec", `stty cols 100 rows 40; cd '${clone}'; ${line}`, "/dev/null"],
    clearEnv: true,
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const keyboard = child.stdin.getWriter();
  const late = setTimeout(() => child.kill("SIGKILL"), LONGEST_MS);
  let said = "";
  let [isAnswered, isStopped] = [false, false];
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    said += text;
    if (answer && !isAnswered && /\[y\/n\]|\(y\/N\)|●|Yes/i.test(said)) {
      isAnswered = true;
      await keyboard.write(new TextEncoder().encode(answer));
    }
    if (!isStopped && until?.test(withoutEscapes(said))) {
      isStopped = true;
      await keyboard.write(new TextEncoder().encode("\x03")).catch(() => {});
    }
  }
  clearTimeout(late);
  await keyboard.close().catch(() => {});
  return { code: (await child.status).code, said: withoutEscapes(said) };
}

/** The shell lines of the README and of the pages it sends to for more, in order, without their comments. */
async function lines(): Promise<string[]> {
  const pages = ["README.md", "docs/COMMANDS.md", "docs/HTTP.md"];
  const text = (await Promise.all(pages.map((page) => Deno.readTextFile(`${clone}/${page}`)))).join("\n");
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => block!.split("\n"))
    .map((line) => line.replace(/\s+#.*$/, "").trim()).filter(Boolean);
}

/** Registries, proxies and certificates are settings of the machine, not of the home. */
function npmSettings(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Deno.env.toObject()).filter(([name]) =>
      /^(npm_config_|https?_proxy$|no_proxy$)|cert|_ca_/i.test(name)
    ),
  );
}

async function prepare(): Promise<void> {
  await Deno.mkdir(home);
  const { success, stderr } = await new Deno.Command("git", { args: ["clone", "-q", ROOT, clone] }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  await Deno.writeTextFile(
    `${home}/.claude.json`,
    JSON.stringify({
      mcpServers: {
        files: {
          command: "node",
          args: [`${clone}/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js`, home],
        },
        memory: { command: "node", args: [`${clone}/node_modules/@modelcontextprotocol/server-memory/dist/index.js`] },
      },
    }),
  );
  const certificate = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=gateway.example"];
  const files = ["-keyout", `${home}/key.pem`, "-out", `${home}/cert.pem`];
  const made = await new Deno.Command("openssl", { args: [...certificate, ...files], stderr: "null" }).output();
  assert.ok(made.success, "openssl makes a certificate");
  await Deno.chmod(`${home}/key.pem`, 0o600);
  await Deno.writeTextFile(
    `${home}/hello.yaml`,
    `tasks:\n  - { id: dirs, tool: "files:list_allowed_directories" }\n  - { id: list, tool: "files:list_directory", arguments: { path: "${home}" } }\n`,
  );
}

/** The address that `serve --http` tells. */
const SERVED = /https?:\/\/[\w.]+:\d+/;

async function typeAll(): Promise<void> {
  const claude = await Deno.readTextFile(`${home}/.claude.json`);
  for (const line of await lines()) {
    const reason = ELSEWHERE.find(([pattern]) => pattern.test(line))?.[1];
    if (reason !== undefined) {
      out(`–  ${line} (${reason})\n`);
      continue;
    }
    const typed = Object.entries(MEANT).reduce(
      (text, [word, meaning]) => text.replace(new RegExp(`(?<![\\w.])${word.replace(".", "\\.")}(?![\\w.])`), meaning),
      line,
    ).replace('"path": "."', `"path": "${home}"`);
    const isInit = /^agentcards init$/.test(line);
    const isAsked = isInit || /init --undo$/.test(line);
    const isServing = /serve --http|dashboard/.test(line);
    const { code, said } = await type(typed, {
      ...isAsked && { answer: "y" },
      ...isServing && { until: SERVED },
    });
    out(`${code === 0 || isServing ? "✓" : "✗"}  ${line}\n`);
    assert.ok(code === 0 || (isServing && SERVED.test(said)), `${typed}\nended with ${code}:\n${said}`);
    const changed = await Deno.readTextFile(`${home}/.claude.json`);
    if (isInit) {
      assert.deepEqual(Object.keys(JSON.parse(changed).mcpServers), ["agentcards"], said);
      assert.match(await askAsClaudeDoes(JSON.parse(changed).mcpServers.agentcards), /servers \(files, memory\)/);
    }
    if (/init --undo/.test(line)) {
      assert.equal(changed, claude, "the client's file is as it was");
      // What follows needs the servers again.
      assert.equal((await type("agentcards init --yes")).code, 0);
    }
    if (/^agentcards run /.test(line)) {
      lastRun = /wf_[0-9a-f]+/.exec(said)![0];
      assert.match(said, /✓ completed/);
    }
    if (/^agentcards status/.test(line)) assert.match(said, /files +(ready|running) +\d+/);
  }
}

interface Entry {
  readonly command: string;
  readonly args: string[];
  readonly env?: Record<string, string>;
}

/** What the entry that `init` left in a client's file answers to a client that knows nothing of this shell. */
async function askAsClaudeDoes(entry: Entry): Promise<string> {
  const child = new Deno.Command(entry.command, {
    args: entry.args,
    cwd: "/",
    clearEnv: true,
    env: { HOME: home, PATH: "/usr/bin:/bin", ...entry.env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const keyboard = child.stdin.getWriter();
  const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  await keyboard.write(
    new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: hello }) + "\n"),
  );
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  reader.releaseLock();
  await keyboard.close().catch(() => {});
  const errors = await new Response(child.stderr).text();
  await child.status;
  return value + errors;
}

try {
  await prepare();
  await typeAll();
} finally {
  const pid = parseInt(await Deno.readTextFile(`${home}/.agentcards/engine.lock`).catch(() => ""));
  if (pid) await endProcess(pid);
  await sleep(200);
  await Deno.remove(base, { recursive: true }).catch(() => {});
}
