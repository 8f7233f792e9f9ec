// OpenTelemetry: the spans and metrics that leave, and what does not.
import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, isAlive, testServer, until } from "../fixtures/gateway.ts";
import { type ReceivedSpan, receiveOtlp, type Receiver } from "../fixtures/otlp.ts";
import { run, task } from "../fixtures/workflow.ts";
import { webServer } from "../servers/web.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const HEARD = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: "vendor=1" };
const SECRET = "Bearer-4f9a8c7b6d5e";

const telemetryTo = ({ endpoint }: Receiver) => ({
  otlp: { endpoint, protocol: "http/json", every: "200ms", headers: { "x-key": "${OTLP_KEY}" } },
});

async function spanOf({ spans }: Receiver, wanted: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan> {
  await until("the span", () => spans.some(wanted), 10_000);
  return spans.find(wanted)!;
}

Deno.test("a trace goes from the client through the gateway to the server, and no value goes with it", async () => {
  await using receiver = receiveOtlp();
  await using web = webServer();
  await using home = await createTestHome({
    servers: { kit: testServer("kit"), web: { url: `${web.url}?key=of-the-address` } },
    telemetry: telemetryTo(receiver),
  });
  await Deno.writeTextFile(`${home.dir}/secrets.env`, `OTLP_KEY=${SECRET}\n`, { mode: 0o600 });
  await using client = await connectClient(home);
  const given = JSON.parse(textOf(await client.use("kit:meta", { word: "personal-words" }, HEARD)));
  assert.equal(given.tracestate, "vendor=1");
  await client.use("kit:fail", { text: "a-word-of-the-call" });

  await client.use("web:act", {}, HEARD);
  assert.ok(web.requests.every(({ headers }) => !headers.has("traceparent")), "headers carry no trace");

  const served = await spanOf(receiver, ({ kind, traceId }) => kind === 2 && traceId === TRACE);
  const sent = await spanOf(receiver, ({ kind, traceId }) => kind === 3 && traceId === TRACE);
  await spanOf(receiver, ({ name }) => name === "tools/call act");
  assert.deepEqual([served.name, served.parentSpanId], ["tools/call call_tool", PARENT]);
  assert.deepEqual([sent.name, sent.parentSpanId], ["tools/call meta", served.spanId]);
  assert.equal(given.traceparent, `00-${TRACE}-${sent.spanId}-01`, "the server is below the gateway's own span");
  assert.deepEqual(
    ["mcp.method.name", "gen_ai.tool.name", "gen_ai.operation.name", "network.transport", "agentcards.server"].map((
      name,
    ) => sent.attributes[name]),
    ["tools/call", "meta", "execute_tool", "pipe", "kit"],
  );
  const failed = await spanOf(receiver, ({ attributes }) => attributes["error.type"] === "tool_error");
  assert.ok(failed.isError && failed.traceId !== TRACE);

  const name = "mcp.client.operation.duration";
  const tools = () =>
    receiver.metrics.get(name)?.points.map((point) => point.attributes as Record<string, unknown>) ?? [];
  await until("the metrics", () => tools().some((attributes) => attributes["gen_ai.tool.name"] === "meta"), 10_000);
  assert.equal(receiver.metrics.get(name)!.unit, "s");
  assert.ok(receiver.metrics.has("mcp.server.operation.duration") && receiver.metrics.has("agentcards.tokens.in"));

  const all = receiver.bodies.join("\n");
  for (const value of ["personal-words", "a-word-of-the-call", SECRET, "vendor=1", "of-the-address"]) {
    assert.ok(!all.includes(value), `${value} left`);
  }
  assert.deepEqual([...receiver.paths].sort(), ["/v1/metrics", "/v1/traces"], "no records of logs");
  assert.equal(receiver.headers[0]!.get("x-key"), SECRET);
  const file = await Deno.stat(`${home.dir}/exporter.json`);
  assert.equal(file.mode! & 0o777, 0o600);
});

Deno.test("a run is one trace: a span for each task, links along the data, calls below their tasks", async () => {
  await using receiver = receiveOtlp();
  await using home = await createTestHome({
    servers: { kit: testServer("kit") },
    policy: { effects: { "kit:*": "read" } },
    telemetry: { otlp: { ...telemetryTo(receiver).otlp, headers: {} } },
  });
  await using client = await connectClient(home);
  const done = await run(client, [
    task("sum", "kit:add", { a: 40, b: 2 }),
    task("twice", "kit:add", { a: "$OUTPUT[sum].sum", b: "$OUTPUT[sum].sum" }),
    {
      id: "code",
      type: "code_execution",
      code: "return (await kit.add({ a: deps.twice.output.sum, b: 1 })).sum",
      depends_on: ["twice"],
    },
  ]);
  assert.equal(done.status, "completed", JSON.stringify(done));
  const root = await spanOf(receiver, ({ name }) => name === "run");
  const inTrace = receiver.spans.filter(({ traceId }) => traceId === root.traceId);
  const named = (name: string) => inTrace.find((span) => span.name === name)!;
  const [sum, twice, code] = ["sum", "twice", "code"].map((id) => named(`task ${id}`)) as [
    ReceivedSpan,
    ReceivedSpan,
    ReceivedSpan,
  ];
  assert.equal(root.attributes["agentcards.run.id"], done.workflow_id);
  assert.equal(root.attributes["agentcards.run.status"], "completed");
  for (const span of [sum, twice, code]) assert.equal(span.parentSpanId, root.spanId);
  assert.deepEqual([sum.links, twice.links, code.links], [[], [sum.spanId], [twice.spanId]]);
  const calls = inTrace.filter(({ name }) => name === "tools/call add");
  assert.deepEqual(
    calls.map(({ parentSpanId }) => parentSpanId).sort(),
    [sum, twice, code].map((s) => s.spanId).sort(),
  );
  const request = inTrace.find(({ kind }) => kind === 2)!;
  assert.deepEqual([request.name, root.parentSpanId], ["tools/call run_workflow", request.spanId]);
});

Deno.test("telemetry that is switched on or off while an engine runs has another engine take over", async () => {
  await using receiver = receiveOtlp();
  await using home = await createTestHome({ servers: { kit: testServer("kit") } });
  await using client = await connectClient(home);
  await client.use("kit:echo", { text: "before" });
  assert.equal(await Deno.stat(`${home.dir}/exporter.json`).catch(() => undefined), undefined);
  const first = (await home.enginePid())!;
  const before = await Deno.readTextFile(`${home.dir}/config.yaml`);
  const text = `\ntelemetry:\n  otlp:\n    endpoint: ${receiver.endpoint}\n    protocol: http/json\n    every: 200ms\n`;
  await Deno.writeTextFile(`${home.dir}/config.yaml`, before + text);
  await until("another engine", async () => !isAlive(first) && await home.enginePid() !== first, 30_000);
  await client.use("kit:echo", { text: "after" });
  await spanOf(receiver, ({ name }) => name === "tools/call echo");
  assert.ok(!receiver.bodies.join("").includes("before"));
});
