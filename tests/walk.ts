// deno task walk [--json]: the files that one call and one workflow of three tasks execute in the engine, in the order of
// their first execution. A copy of the sources is instrumented, so that every function tells its file; files that run on a
// timer are left out by walking three times.
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import ts from "typescript";
import { ROOT, testServer } from "./fixtures/gateway.ts";

const ROUNDS = 3;
const COPIED = ["main.ts", "mod.ts", "deps.ts", "deno.json", "deno.lock"];
/** Programs of the sandbox: they run in processes of their own. */
const LEFT_OUT = /sandbox\/(?:runner|typecheck_runner|typecheck_globals)\.ts$/;

interface Walk {
  readonly files: readonly string[];
  readonly rooms: readonly string[];
}

/** Inserts a call at the beginning of every function. */
function instrumented(text: string, file: string): string {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const mark = `globalThis.__walk?.(${JSON.stringify(file)})`;
  const edits: { at: number; text: string }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body) {
      const body = node.body as ts.Node;
      if (ts.isBlock(body)) edits.push({ at: body.getStart() + 1, text: `${mark};` });
      else edits.push({ at: body.getStart(), text: `(${mark}, ` }, { at: body.getEnd(), text: ")" });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return edits.toSorted((a, b) => b.at - a.at)
    .reduce((whole, edit) => whole.slice(0, edit.at) + edit.text + whole.slice(edit.at), text);
}

function prelude(told: string): string {
  return `const order = new Set<string>(); let isOn = false;
(globalThis as any).__walk = (file: string) => { if (isOn) order.add(file); };
Deno.addSignalListener("SIGUSR1", () => { order.clear(); isOn = true; });
Deno.addSignalListener("SIGUSR2", () => {
  isOn = false;
  Deno.writeTextFileSync(${JSON.stringify(told)} + Deno.pid, JSON.stringify([...order]));
});
`;
}

async function copySources(to: string, told: string): Promise<void> {
  for (const name of COPIED) await Deno.copyFile(join(ROOT, name), join(to, name));
  await Deno.writeTextFile(join(to, "main.ts"), prelude(told) + await Deno.readTextFile(join(ROOT, "main.ts")));
  await Deno.symlink(join(ROOT, "node_modules"), join(to, "node_modules"));
  const copy = async (folder: string): Promise<void> => {
    await Deno.mkdir(join(to, folder), { recursive: true });
    for await (const { name, isDirectory } of Deno.readDir(join(ROOT, folder))) {
      const path = join(folder, name);
      if (isDirectory) await copy(path);
      else if (!name.endsWith(".ts") || LEFT_OUT.test(path)) await Deno.copyFile(join(ROOT, path), join(to, path));
      else {
        const file = relative("src", path);
        await Deno.writeTextFile(join(to, path), instrumented(await Deno.readTextFile(join(ROOT, path)), file));
      }
    }
  };
  await copy("src");
}

/** A client over stdio that asks one thing after the other. */
function startClient(program: readonly string[], env: Record<string, string>, cwd: string) {
  const child = new Deno.Command(program[0]!, {
    args: [...program.slice(1), "serve"],
    env,
    cwd,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  const lines = child.stdout.pipeThrough(new TextDecoderStream());
  const waiting = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  let last = 0;
  void (async () => {
    let rest = "";
    for await (const text of lines) {
      const parts = (rest + text).split("\n");
      rest = parts.pop()!;
      for (const part of parts) {
        const message = JSON.parse(part);
        waiting.get(message.id)?.resolve(message.result ?? message.error);
      }
    }
  })();
  const send = (message: object) => writer.write(new TextEncoder().encode(JSON.stringify(message) + "\n"));
  return {
    async ask(method: string, params: object) {
      const id = ++last;
      const answer = Promise.withResolvers<Record<string, unknown>>();
      waiting.set(id, answer);
      await send({ jsonrpc: "2.0", id, method, params });
      return await answer.promise;
    },
    notify: (method: string) => send({ jsonrpc: "2.0", method }),
    async close() {
      await writer.close();
      await child.status;
    },
  };
}

const CALL = { name: "call_tool", arguments: { tool: "kit:add", arguments: { a: 1, b: 2 } } };
const WORKFLOW = {
  name: "run_workflow",
  arguments: {
    tasks: [
      { id: "one", tool: "kit:add", arguments: { a: 1, b: 2 } },
      { id: "two", tool: "kit:echo", arguments: { text: "two" } },
      { id: "both", tool: "kit:echo", arguments: { text: "$OUTPUT[one] $OUTPUT[two]" } },
    ],
  },
};

async function walkAll(): Promise<Record<"call" | "workflow", Walk>> {
  const folder = await Deno.makeTempDir({ prefix: "ac-walk-" });
  try {
    const [copy, home, told] = [join(folder, "copy"), join(folder, "home"), join(folder, "told-")];
    await Deno.mkdir(copy);
    await Deno.mkdir(home, { mode: 0o700 });
    await copySources(copy, told);
    const config = { servers: { kit: testServer("kit") } };
    await Deno.writeTextFile(join(home, "config.yaml"), JSON.stringify(config));
    const program = [
      Deno.execPath(),
      "run",
      "-A",
      "--quiet",
      "--config",
      join(copy, "deno.json"),
      join(copy, "main.ts"),
    ];
    const env = { ...Deno.env.toObject(), AGENTCARDS_HOME: home };
    const client = startClient(program, env, dirname(copy));
    const clientInfo = { name: "walk", version: "1" };
    await client.ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    await client.notify("notifications/initialized");
    const status = await new Deno.Command(program[0]!, { args: [...program.slice(1), "status", "--json"], env })
      .output();
    const { pid } = JSON.parse(new TextDecoder().decode(status.stdout)) as { pid: number };
    const walk = async (request: object): Promise<Walk> => {
      for (let i = 0; i < 3; i++) await client.ask("tools/call", request);
      const rounds: string[][] = [];
      for (let i = 0; i < ROUNDS; i++) {
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        Deno.kill(pid, "SIGUSR1");
        await new Promise((resolve) => setTimeout(resolve, 30));
        await client.ask("tools/call", request);
        Deno.kill(pid, "SIGUSR2");
        await new Promise((resolve) => setTimeout(resolve, 300));
        rounds.push(JSON.parse(await Deno.readTextFile(`${told}${pid}`)));
      }
      const files = rounds[0]!.filter((file) => rounds.every((round) => round.includes(file)));
      return { files, rooms: [...new Set(files.map((file) => file.split("/")[0]!))] };
    };
    const walks = { call: await walk(CALL), workflow: await walk(WORKFLOW) };
    await client.close();
    await new Deno.Command(program[0]!, { args: [...program.slice(1), "engine", "stop"], env }).output();
    return walks;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ args: Deno.args, options: { json: { type: "boolean", default: false } } });
  const walks = await walkAll();
  const print = (text: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
  if (values.json) print(JSON.stringify(walks));
  else {
    for (const [name, { files, rooms }] of Object.entries(walks)) {
      print(`${name}: ${files.length} files in ${rooms.length} rooms (${rooms.join(", ")})`);
      for (const file of files) print(`  ${file}`);
    }
  }
}
