// The library as programs in Node have it: a module of plain JavaScript in front of a gateway in a Deno of its own.
import assert from "node:assert/strict";
import { createTestHome, PROGRAM, ROOT, testServer } from "./fixtures/gateway.ts";

const USE = (home: string) => `
import { openGateway } from ${JSON.stringify(`${ROOT}bin/library.mjs`)};
const tell = (what) => console.log(JSON.stringify(what));
const command = ${JSON.stringify(PROGRAM)};
const home = ${JSON.stringify(home)};
const gateway = await openGateway({
  home,
  command,
  guardrails: [({ tool, arguments: given }) => given.text === "secret" ? { deny: tool + " may not" } : undefined],
});
tell((await gateway.call("kit:add", { a: 20, b: 22 })).structuredContent);
tell((await gateway.search("add two numbers"))[0].tool.id);
await gateway.call("kit:echo", { text: "secret" }).catch(({ code, message }) => tell({ code, message }));
await openGateway({ home, command }).catch(({ code }) => tell({ code }));
const run = gateway.runWorkflow({ tasks: [{ id: "a", tool: "kit:echo", arguments: { text: "hi" } }] });
const kinds = [];
let step = await run.next();
for (; !step.done; step = await run.next()) kinds.push(step.value.kind);
tell({ kinds, results: step.value.results });
for await (const event of gateway.runWorkflow({ tasks: [{ id: "h", tool: "kit:hang" }] })) break;
const calling = new AbortController();
setTimeout(() => calling.abort(), 100);
await gateway.call("kit:hang", {}, { signal: calling.signal }).catch(({ code }) => tell({ cancelled: code }));
tell((await gateway.stats()).runs);
await gateway.close();
await gateway.call("kit:add", {}).catch(({ code }) => tell({ code }));
`;

Deno.test("a program in Node opens a gateway, calls, runs workflows and puts guardrails in front", async () => {
  await using home = await createTestHome({ servers: { kit: testServer("kit") } });
  await Deno.writeTextFile(`${home.dir}/use.mjs`, USE(home.dir));
  const { code, stdout, stderr } = await new Deno.Command("node", { args: ["use.mjs"], cwd: home.dir, env: home.env })
    .output();
  const words = new TextDecoder().decode(stderr);
  assert.equal(code, 0, words);
  const told = new TextDecoder().decode(stdout).trim().split("\n").map((line) => JSON.parse(line));
  const [sum, best, refused, second, run, cancelled, runs, closed] = told;
  assert.deepEqual([sum, best, runs], [{ sum: 42 }, "kit:add", 2], JSON.stringify(told) + words);
  assert.deepEqual([refused.code, second.code, closed.code], ["TOOL_DENIED", "ENGINE_BUSY", "ENGINE_UNREACHABLE"]);
  assert.match(refused.message, /kit:echo may not/);
  assert.deepEqual(run.results, { a: "kit: hi" });
  assert.ok(run.kinds.includes("started") && run.kinds.at(-1) === "finished", run.kinds.join());
  assert.ok(cancelled.cancelled !== undefined);
});
