import assert from "node:assert/strict";
import { declarations } from "../../src/model/declaration.ts";
import type { JsonObject } from "../../src/model/json.ts";
import { createTypeChecker, type TypeChecker, type TypeProblem } from "../../src/sandbox/typecheck.ts";
import { isAlive, ROOT, sleep, until } from "../fixtures/gateway.ts";

const DECLARED = `
declare const github: {
  list_issues(input: { repo: string; state?: "open" | "closed" }): Promise<{ items: Array<{ title: string }> }>;
  "no-input"(input?: {}): Promise<any>;
};
declare const fetch: { fetch(input: { url: string }): Promise<any> };
declare const tools: {
  "github:list_issues"(input: { repo: string }): Promise<any>;
  [other: \`slack:\${string}\`]: (input?: object) => Promise<any>;
};`;

type Check = (code: string, declared?: string, signal?: AbortSignal) => Promise<readonly TypeProblem[]>;

interface Around {
  readonly checker: TypeChecker;
  readonly started: readonly number[];
  readonly ended: readonly number[];
}

async function withChecker(
  work: (check: Check, around: Around) => Promise<void>,
  limits: { timeoutMs?: number; idleMs?: number } = {},
): Promise<void> {
  const started: number[] = [];
  const ended: number[] = [];
  const checker = createTypeChecker({ watch: (pid) => started.push(pid), forget: (pid) => ended.push(pid), ...limits });
  const never = new AbortController().signal;
  try {
    await work(
      (code, declared = DECLARED, signal = never) =>
        checker.check({ code, declarations: declared, names: ["slack"] }, signal),
      { checker, started, ended },
    );
  } finally {
    await checker.close();
    assert.deepEqual(ended.toSorted(), started.toSorted());
    assert.deepEqual(started.filter(isAlive), []);
  }
}

const places = (problems: readonly TypeProblem[]) => problems.map(({ line, column }) => `${line}:${column}`);

Deno.test("code that would run has no problems, however loosely it is written", async () => {
  await withChecker(async (check) => {
    const good = [
      "return 1",
      "",
      "// only a comment",
      'const { items } = await github.list_issues({ repo: "a" });\nreturn items.map(({ title }) => title.length)',
      '// first\nimport { basename, type Plain } from "node:path"; import * as os from "node:os";\n/* then */\n' +
      '  import * as fs from "node:fs"\nlet plain: Plain;\nreturn f(plain);\n' +
      "function f(x) { let s: fs.Stats; return basename(x, s) + os.EOL }",
      'import data from "data:application/json,{}" with { type: "json" };\nreturn data.a + (await import("node:os")).EOL',
      'const r = await fetch.fetch({ url: "x" }); await slack.anything({ x: 1 }); return r.anything.at.all',
      'const id: string = context.id; return [await tools[id]({}), await tools["slack:post"](), github["no-input"]()]',
      "return deps.a.output.b + (await results.get('r_1', ['a', 0])).c",
      "try { await slack.x() } catch (e) { if (e instanceof ToolError) return e.tool; console.error(e.code) }",
      "const rows = []; rows.push(1); rows.push('a'); const by = {}; by.a = 1; for (const k of ['x']) by[k] = 1; return by.a",
      "const seen = new Map(); return [1].reduce((all, n) => { all[n] = seen.get(n).x; return all }, {})",
      "return context.list.sort((a, b) => new Date(a.at) - new Date(b.at))",
      "const context = 1, deps = 2, URL = 3; return context + deps + URL",
      "const b: Blob = new Blob([]); let s: ReadableStream<string>; let e: Deno.errors.NotFound; return [b, s, e]",
      "return [crypto.randomUUID(), atob(btoa('x')), structuredClone({ a: 1 }).a, new URL('a:b').searchParams.get('x'), " +
      "new TextDecoder().decode(new TextEncoder().encode('x')), performance.now(), Deno.version, Buffer, globalThis.x, " +
      "Temporal, [1].values().map((n) => n * 2).toArray(), new Uint8Array(1).toBase64(), import.meta.url]",
      "await new Promise((done) => setTimeout(done, 1)); clearTimeout(setTimeout(() => {}, 1)); queueMicrotask(() => {})",
    ];
    for (const code of good) assert.deepEqual(await check(code), [], code);
  });
});

Deno.test("what does not fit is named, at the author's own line and column", async () => {
  await withChecker(async (check) => {
    const bad: [string, string[], RegExp][] = [
      [
        'await github.lsit_issues({ repo: "a" })',
        ["1:14"],
        /'lsit_issues' does not exist .* Did you mean 'list_issues'/,
      ],
      ["const a = 1;\n\n  await github.list_issues({ repo: a })", ["3:30"], /'number' is not assignable .* 'string'/],
      ["await github.list_issues({})", ["1:26"], /'repo' is missing/],
      ["await github.list_issues()", ["1:14"], /Expected 1 arguments/],
      ['await github.list_issues({ repo: "a", state: "ajar" })', ["1:39"], /"ajar"/],
      ['await github.list_issues({ repo: "a", stat: "open" })', ["1:39"], /'stat' does not exist/],
      ['return (await github.list_issues({ repo: "a" })).items[0].titel', ["1:59"], /'titel' does not exist/],
      ['return github.list_issues({ repo: "a" }).items', ["1:42"], /forget to use 'await'/],
      ['await tools["github:lsit_issues"]({})', ["1:13"], /Did you mean 'github:list_issues'/],
      ['await tools["github:other"]({})', ["1:7"], /^Property 'github:other' does not exist/],
      ["await fetch('https://example.org')", ["1:7"], /not callable/],
      ["return nope", ["1:8"], /^Cannot find name 'nope'\.$/],
      ["return [localStorage, document, require('x')]", ["1:9", "1:23", "1:33"], /^Cannot find name 'localStorage'\.$/],
      ["await results.get(1); await results.gte('r_1')", ["1:19", "1:37"], /'number' is not assignable/],
      ["console.lgo(1)", ["1:9"], /'lgo' does not exist on type 'Console'/],
      ["const a = 1;\nconst b = ;\nreturn nope", ["2:11"], /Expression expected/],
      ["[1].map((x) => await slack.y(x))", ["1:16"], /'await' expressions are only allowed within async/],
      ['import a from "node:fs"\nif (a) {\n  f(', ["3:5"], /brackets do not match/],
      ["}", ["1:2"], /brackets do not match/],
      ["return `abc", ["1:12"], /Unterminated template/],
      ['import { a } from "node:fs"; return nope', ["1:37"], /nope/],
      ['const a = "é🙂"; return nope', ["1:25"], /nope/],
      ['// x\nimport a from "./near.ts"\nimport "npm:x"\nreturn 1', ["2:15", "3:8"], /Cannot find module '.\/near.ts'/],
    ];
    for (const [code, where, what] of bad) {
      const problems = await check(code);
      assert.deepEqual(places(problems), where, `${code}\n${JSON.stringify(problems)}`);
      assert.match(problems[0]!.message, what);
    }
  });
});

Deno.test("the global fetch takes only what needs no network, and tools without declarations take anything", async () => {
  await withChecker(async (check) => {
    assert.deepEqual(await check("return [await tools['a:b']({ x: 1 }), await fetch('data:,x')]", ""), []);
    assert.match((await check("await fetch('https://example.org')", ""))[0]!.message, /data:/);
    assert.match((await check("return github.x()", ""))[0]!.message, /Cannot find name 'github'/);
  });
});

Deno.test("what model/declaration.ts writes can be checked against", async () => {
  const inputSchema = { type: "object", properties: { title: { type: "string" } }, required: ["title"] } as JsonObject;
  const text = declarations([
    { id: "my-hub:new-issue", server: "my-hub", name: "new-issue", description: "*/ x", hash: "", inputSchema },
  ]);
  await withChecker(async (check) => {
    assert.deepEqual(await check('return await my_hub["new-issue"]({ title: "x" })', text), []);
    assert.deepEqual(places(await check('return await my_hub["new-issue"]({ title: 1 })', text)), ["1:36"]);
    await assert.rejects(check("return 1", "declare const a: {{"), { code: "INTERNAL", message: /not TypeScript/ });
    assert.deepEqual(await check("return 1"), []);
  });
});

Deno.test("no file is read for code, whatever it names", async () => {
  const folder = await Deno.makeTempDir();
  const secret = `${folder}/secret.ts`;
  await Deno.writeTextFile(secret, "export const hunter2: number = 'hunter2';\nexport hunter2;\n");
  await Deno.writeTextFile(`${folder}/package.json`, '{ "name": "hunter2", "types": "./secret.ts" }');
  const naming = (path: string) => [
    `/// <reference path="${path}" />\n/// <reference types="${path}" />\nreturn hunter2`,
    `import { hunter2 } from "${path}";\nconst a: string = hunter2; return a.nope`,
    `import * as all from "file://${path}";\nreturn all.hunter2.nope`,
    `import text from "${path}" with { type: "text" };\nreturn text`,
    `let a: import("${path}").Nope; let b: typeof import("${path}"); return [a, b, await import("${path}")]`,
    `import old = require("${path}"); return old`,
    `} /// <reference path="${path}" />\nexport * from "${path}"; export default async () => {`,
  ];
  await withChecker(async (check) => {
    for (const path of ["/etc/passwd", secret, `${folder}/`]) {
      const codes = naming(path);
      for (const [i, code] of codes.entries()) {
        const problems = await check(code);
        const absent = await check(naming("/not/there")[i]!);
        assert.ok(problems.length > 0, code);
        // What is there and what is not look the same.
        const plain = (list: readonly TypeProblem[], name: string) =>
          list.map(({ message, code }) => `${code} ${message.replaceAll(name, "PATH")}`);
        assert.deepEqual(plain(problems, path), plain(absent, "/not/there"), code);
        const said = problems.map(({ message }) => message).join("\n").replaceAll("'hunter2'", "");
        assert.doesNotMatch(said, /hunter2|root:|not assignable/, code);
      }
    }
  });
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a bomb costs a check, never the checker", async () => {
  const bombs: [string, string, RegExp][] = [
    [`return ${"(".repeat(20_000)}1${")".repeat(20_000)}`, "INPUT_INVALID", /nested too deeply/],
    [`${"{".repeat(100_000)}`, "INPUT_INVALID", /nested too deeply/],
    [`return ${"1+".repeat(100_000)}1`, "TIMEOUT", /more than 1\.5 s/],
    ["x".repeat(256 * 1024 + 1), "INPUT_INVALID", /too much code/],
  ];
  await withChecker(async (check, { started }) => {
    assert.deepEqual(await check("return 1"), []);
    for (const [code, is, message] of bombs) {
      const began = performance.now();
      await assert.rejects(check(code), { code: is, message, hint: "Run it without typecheck." });
      assert.ok(performance.now() - began < 15_000);
    }
    assert.deepEqual(places(await check("return nope")), ["1:8"]);
    const many = await check("const a: string = 1;\n".repeat(2_000) + `let b: "${"y".repeat(2_000)}\\u202e" = 1`);
    assert.equal(many.length, 20);
    const { message } = (await check(`let b: { "${"y".repeat(2_000)}": 1, "\u202e\\n": 2 } = 1`))[0]!;
    assert.ok(message.length <= 500 && !/[\n\u202e]/.test(message), message);
    assert.ok(started.length <= 5, `${started.length} processes`);
  }, { timeoutMs: 1_500 });
});

Deno.test("one process serves one check after another, and ends when nobody needs it", async () => {
  await withChecker(async (check, { started, ended }) => {
    const all = await Promise.all(Array.from({ length: 20 }, (_, i) => check(`${"\n".repeat(i)}nope`)));
    assert.deepEqual(all.flatMap(places), Array.from({ length: 20 }, (_, i) => `${i + 1}:1`));
    assert.equal(started.length, 1);
    await until("it ends by itself", () => ended.length === 1);
    await check("return 1");
    assert.equal(started.length, 2);
    // One that is killed from outside is replaced.
    Deno.kill(started[1]!, "SIGKILL");
    await until("its end is seen", () => ended.length === 2);
    assert.deepEqual(await check("return 1"), []);
  }, { idleMs: 300 });
});

Deno.test("a check that is called off ends at once, also while it waits, and so does closing", async () => {
  const bomb = `return ${"1+".repeat(100_000)}1`;
  await withChecker(async (check, { checker, started }) => {
    await check("return 1");
    const [running, waiting] = [new AbortController(), new AbortController()];
    const first = assert.rejects(check(bomb, "", running.signal), { code: "CANCELLED" });
    const second = assert.rejects(check("return 1", "", waiting.signal), { code: "CANCELLED" });
    const third = check("return nope");
    await sleep(100);
    waiting.abort();
    await second;
    running.abort();
    await first;
    assert.deepEqual(places(await third), ["1:8"]);
    assert.equal(started.length, 2);
    const last = [check(bomb), check("return 1")].map((open) => assert.rejects(open, { code: "CANCELLED" }));
    await sleep(100);
    const began = performance.now();
    await checker.close();
    await Promise.all(last);
    assert.ok(performance.now() - began < 2_000);
    await assert.rejects(check("return 1"), { code: "CANCELLED" });
  });
});

Deno.test("nothing is left when the engine dies", async () => {
  const cache = await Deno.makeTempDir();
  const script = `
    import { createTypeChecker } from ${JSON.stringify(import.meta.resolve("../../src/sandbox/typecheck.ts"))};
    const checker = createTypeChecker({ watch: (pid) => console.log(pid), forget() {}, cache: ${
    JSON.stringify(cache)
  } });
    await checker.check({ code: "", declarations: "", names: [] }, new AbortController().signal);
    console.log("ready");
    await new Promise((done) => setTimeout(done, 60_000));`;
  const engine = new Deno.Command(Deno.execPath(), {
    args: ["eval", script],
    cwd: ROOT,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let said = "";
  for await (const text of engine.stdout.pipeThrough(new TextDecoderStream())) {
    said += text;
    if (said.includes("ready")) break;
  }
  const pid = parseInt(said);
  assert.ok(isAlive(pid));
  engine.kill("SIGKILL");
  await engine.status;
  await until("the checker ends", () => !isAlive(pid));
  await Deno.remove(cache, { recursive: true });
});

Deno.test("imports are found as the runner finds them", async () => {
  const [runner, checker] = await Promise.all(
    ["runner", "typecheck_runner"].map(async (name) => {
      const text = await Deno.readTextFile(new URL(`../../src/sandbox/${name}.ts`, import.meta.url));
      return /^const IMPORT = .*$/m.exec(text)?.[0];
    }),
  );
  assert.ok(runner);
  assert.equal(checker, runner);
});
