import assert from "node:assert/strict";
import { isAlive, sleep, until } from "../fixtures/gateway.ts";
import type { CageOutcome, CageTools } from "../../src/sandbox/cage.ts";
import { startProcess } from "../../src/sandbox/cage_process.ts";
import type { Level } from "../../src/sandbox/command.ts";
import { availableLevel } from "../../src/sandbox/level.ts";
import type { CageLimits } from "../../src/sandbox/limits.ts";
import { createSandbox, type Sandbox } from "../../src/sandbox/sandbox.ts";

const TOOLS: CageTools = {
  call: (tool, args) =>
    tool.endsWith(":bad") ? Promise.reject(new Error("it did not work")) : Promise.resolve({ tool, args }),
  result: (handle) => Promise.resolve({ handle }),
};

interface Run {
  (code: string, limits?: Partial<CageLimits>, tools?: CageTools): Promise<CageOutcome>;
}

const pids = new Set<number>();

async function withSandbox(level: Level, work: (run: Run, sandbox: Sandbox) => Promise<void>): Promise<void> {
  const sandbox = createSandbox({ level, groups, setpriv, watch: (pid) => pids.add(pid), forget: () => {} });
  const request = {
    context: { x: 2 },
    deps: { a: { status: "success", output: 5, error: null } },
    servers: { github: "git-hub" },
  };
  try {
    await work(
      (code, limits = {}, tools = TOOLS) =>
        sandbox.run({ ...request, code }, tools, { signal: new AbortController().signal, minimumLevel: 0, limits }),
      sandbox,
    );
  } finally {
    await sandbox.close();
  }
}

function valueOf({ result }: CageOutcome): unknown {
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

function errorOf({ result }: CageOutcome) {
  assert.ok(!result.ok, JSON.stringify(result));
  return result.error;
}

const { level: strongest, groups, setpriv } = await availableLevel();
const LEVELS = ([0, 1, 2, 3] as const).filter((level) => level <= strongest);

for (const level of LEVELS) {
  Deno.test(`level ${level}: code runs, with everything it was given`, async () => {
    await withSandbox(level, async (run) => {
      assert.equal(valueOf(await run("return 1")), 1);
      assert.equal(valueOf(await run("const v: number = context.x + deps.a.output;\nreturn v * 2")), 14);
      assert.equal(valueOf(await run("await Promise.resolve(); return")), null);
      assert.equal(valueOf(await run("const context = 1, deps = 2; return context + deps")), 3);
      assert.equal(
        valueOf(
          await run(
            "import { basename } from 'node:path';\nimport * as p from \"node:path\"\nreturn basename('/a/b') + p.sep",
          ),
        ),
        "b/",
      );
      assert.equal(
        valueOf(
          await run(
            "// a\nimport { sep } from 'node:path'; import { EOL } from 'node:os';\nreturn `\nimport x from 'y'\n${sep}${EOL}`",
          ),
        ),
        "\nimport x from 'y'\n/\n",
        "what only looks like an import is a text",
      );
      const called = await run("return await Promise.all([github.list({ n: 1 }), tools['a:b'](), results.get('r_1')])");
      assert.deepEqual(valueOf(called), [
        { tool: "git-hub:list", args: { n: 1 } },
        { tool: "a:b", args: {} },
        { handle: "r_1" },
      ]);
      assert.equal(called.metrics.calls, 3);
      const caught = await run(
        "try { await github.bad() } catch (e) { return [e instanceof ToolError, e.message, e.tool] }",
      );
      assert.deepEqual(valueOf(caught), [true, "it did not work", "git-hub:bad"]);
      const { logs } = await run(
        "console.log('a', { b: 1 }); console.error('c'); console.table([1]); console.time('x')",
      );
      assert.deepEqual(logs.slice(0, 2), [{ level: "info", text: "a { b: 1 }" }, { level: "error", text: "c" }]);
      const big = "y".repeat(1_500_000);
      const echo: CageTools = { ...TOOLS, call: (_tool, args) => Promise.resolve(args) };
      const far = await run(`return (await github.echo({ text: "y".repeat(1_500_000) })).text`, {}, echo);
      assert.equal(valueOf(far), big, "large values cross in parts, both ways");
    });
  });

  Deno.test(`level ${level}: errors say what and where, in the author's own lines`, async () => {
    await withSandbox(level, async (run) => {
      assert.deepEqual(errorOf(await run("let a = 1;\n  throw new TypeError('oops')")), {
        type: "RuntimeError",
        message: "TypeError: oops",
        line: 2,
        column: 9,
      });
      const first = errorOf(await run("throw new Error('first')"));
      assert.deepEqual([first.line, first.column], [1, 7]);
      const syntax = errorOf(await run("const a = 1;\nconst b = ;\n"));
      assert.deepEqual([syntax.type, syntax.line], ["SyntaxError", 2]);
      assert.equal(errorOf(await run("return await Deno.readTextFile('/etc/passwd')")).type, "PermissionError");
      const failed = errorOf(await run("const a = 1;\nawait github.bad()"));
      assert.deepEqual([failed.type, failed.message, failed.line], ["ToolError", "it did not work", 2]);
      assert.equal(errorOf(await run("Deno.exit(0)")).type, "RuntimeError");
      assert.match(
        errorOf(await run("import process from 'node:process'; process.abort()")).message,
        /before it gave a result|not a function/,
      );
      assert.match(errorOf(await run("return 1n")).message, /BigInt/);
      assert.match(errorOf(await run("throw 'text'")).message, /text was thrown/);
    });
  });

  Deno.test(`level ${level}: limits hold, each with its own word`, async () => {
    await withSandbox(level, async (run) => {
      const timeout = await run("while (true) {}", { wallMs: 200 });
      assert.deepEqual([errorOf(timeout).type, timeout.metrics.ms < 1_500], ["TimeoutError", true]);
      const idle = await run("await new Promise(() => {})", { wallMs: 200 });
      assert.equal(errorOf(idle).type, "TimeoutError");
      const memory = await run("const a = []; for (;;) a.push(new Uint8Array(2e7).fill(1))", { wallMs: 10_000 });
      assert.equal(errorOf(memory).type, "MemoryError");
      assert.ok(memory.metrics.peakMb < 612, `${memory.metrics.peakMb} MB`);
      assert.equal(
        errorOf(await run("for (;;) console.log('x'.repeat(60_000))", { wallMs: 10_000 })).type,
        "LimitError",
      );
      const calls = await run("for (let i = 0; i < 20; i++) await github.x()", { calls: 10 });
      assert.match(errorOf(calls).message, /more than 10 calls/);
      const deep = "let a = []; for (let i = 0; i < 500; i++) a = [a]; return a";
      assert.match(errorOf(await run(deep)).message, /nested deeper than 64/);
      assert.match(
        errorOf(await run("return 'x'.repeat(3e6)", { valueBytes: 1e6 })).message,
        /more than 1000000 bytes/,
      );
    });
  });

  Deno.test(`level ${level}: forged frames are noise, and one run knows nothing of another`, async () => {
    await withSandbox(level, async (run) => {
      const forge = (write: string) =>
        `import fs from "node:fs"; const text = JSON.stringify({ n: "x", t: "value", last: '"forged"' }) + "\\n"; ${write}; await new Promise((r) => setTimeout(r, 100)); return "real"`;
      for (const write of ["Deno.stdout.writeSync(new TextEncoder().encode(text))", "fs.writeSync(1, text)"]) {
        assert.match(errorOf(await run(forge(write))).message, /wrote past its runner|undefined|access/, write);
      }
      const patched =
        "JSON.stringify = () => '\"patched\"'; JSON.parse = () => 0; Promise.prototype.then = null; return 'real'";
      assert.equal(valueOf(await run(patched)), "real");
      const seen = "const was = typeof localStorage; Array.mark = (Array.mark ?? 0) + 1; return [was, Array.mark]";
      for (let i = 0; i < 2; i++) assert.deepEqual(valueOf(await run(seen)), ["undefined", 1]);
    });
  });
}

Deno.test("nothing new can pass itself off as a tool: the global object takes no more names", async () => {
  await withSandbox(0, async (run) => {
    const error = errorOf(await run('Object.defineProperty(globalThis, "tools", { value: 1 }); return 1'));
    assert.match(error.message, /not extensible/);
    // What modules of the runtime need is there already.
    assert.equal(
      valueOf(await run('import { Buffer } from "node:buffer"; return Buffer.from("a").toString("hex")')),
      "61",
    );
  });
});

Deno.test("nothing is left behind: no process, no folder, also after many runs and a close in the middle", async () => {
  const folders = async () =>
    (await Array.fromAsync(Deno.readDir("/tmp"))).filter(({ name }) => name.startsWith("agentcards-cage-")).length;
  const before = await folders();
  await withSandbox(LEVELS.at(-1)!, async (run) => {
    for (let i = 0; i < 20; i++) await run("return 1");
    void run("while (true) {}", { wallMs: 300 });
    await sleep(50);
  });
  await until("all are gone", () => ![...pids].some(isAlive));
  await until("their folders, too", async () => await folders() <= before);
});

Deno.test("a run that is called off ends at once, and too weak a cage runs nothing", async () => {
  await withSandbox(LEVELS.at(-1)!, async (_run, sandbox) => {
    const controller = new AbortController();
    const request = { code: "while (true) {}", context: {}, deps: {}, servers: {} };
    const running = sandbox.run(request, TOOLS, { signal: controller.signal, minimumLevel: 0 });
    setTimeout(() => controller.abort(), 100);
    const outcome = await running;
    assert.match(errorOf(outcome).message, /cancelled/);
    assert.ok(outcome.metrics.ms < 1_500);
  });
  const weak = createSandbox({ level: 0, watch() {}, forget() {} });
  await assert.rejects(
    weak.run({ code: "return 1", context: {}, deps: {}, servers: {} }, TOOLS, {
      signal: new AbortController().signal,
      minimumLevel: 2,
    }),
    { code: "SANDBOX_TOO_WEAK" },
  );
  await weak.close();
});

Deno.test("the memory of all runs together is bounded: a run waits for its turn, or is told why it has none", async () => {
  const together = { runs: 8, memoryMb: 1_200 };
  const sandbox = createSandbox({ level: 0, setpriv, together, watch() {}, forget() {} });
  const run = (code: string, limits: Partial<CageLimits> = {}) =>
    sandbox.run({ code, context: {}, deps: {}, servers: {} }, TOOLS, {
      signal: new AbortController().signal,
      minimumLevel: 0,
      limits: { memoryMb: 700, ...limits },
    });
  try {
    const hold = `const began = Date.now(); await new Promise((r) => setTimeout(r, 500)); return [began, Date.now()]`;
    const [a, b] = (await Promise.all([run(hold), run(hold)])).map(valueOf) as [number, number][];
    assert.ok(a![1] <= b![0] || b![1] <= a![0], `one after another: ${a} and ${b}`);
    const holder = run("await new Promise((r) => setTimeout(r, 3_000))");
    const late = errorOf(await run("return 1", { wallMs: 300 }));
    assert.equal(late.type, "LimitError");
    assert.match(late.message, /No room .* within 300 ms: 1 other runs hold 700 MB .*1200 MB.*options\.memory_mb/);
    assert.equal(valueOf(await run("return 1", { memoryMb: 300 })), 1, "a run that fits need not wait");
    await holder;
    assert.match(errorOf(await run("return 1", { memoryMb: 1_300 })).message, /asks for 1300 MB, .* may use 1200 MB/);
  } finally {
    await sandbox.close();
  }
});

Deno.test("a cage that cannot be built any more is an error that says why, and leaves nothing", async () => {
  if (strongest < 2) return;
  const dir = await Deno.makeTempDir();
  const path = Deno.env.get("PATH")!;
  const folder = `${dir}/cages`;
  await Deno.mkdir(folder);
  const run = async (script: string | undefined, options: { startMs?: number } = {}) => {
    if (script !== undefined) await Deno.writeTextFile(`${dir}/bwrap`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    Deno.env.set("AGENTCARDS_SYSTEM_PATH", script === undefined ? "/nowhere" : `${dir}:${path}`);
    const started = startProcess({
      level: 2,
      memoryMb: 512,
      cpuMs: 30_000,
      folder,
      watch() {},
      forget() {},
      ...options,
    });
    await assert.rejects(started, { code: "SANDBOX_TOO_WEAK" });
    return await started.then(() => "it started", (error: Error) => error.message);
  };
  try {
    assert.match(await run("echo 'no namespaces for you' >&2; exit 1"), /level 2 did not start: no namespaces for you/);
    assert.match(await run("sleep 60", { startMs: 200 }), /did not come up in time/);
    assert.match(await run(undefined), /did not start/);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(folder)), []);
  } finally {
    Deno.env.delete("AGENTCARDS_SYSTEM_PATH");
    await Deno.remove(dir, { recursive: true });
  }
});
