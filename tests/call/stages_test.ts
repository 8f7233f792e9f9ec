// Each stage by itself: a call goes in, and a function of the test stands for the rest of the way.
import assert from "node:assert/strict";
import { compose } from "../../src/call/pipeline.ts";
import type { Session } from "../../src/call/session.ts";
import type { Privacy } from "../../src/call/session.ts";
import { approve } from "../../src/call/stages/approve.ts";
import { audit } from "../../src/call/stages/audit.ts";
import { commit } from "../../src/call/stages/commit.ts";
import { observe } from "../../src/call/stages/observe.ts";
import { hidePersonalData } from "../../src/call/stages/privacy.ts";
import { questions } from "../../src/call/stages/questions.ts";
import { rules } from "../../src/call/stages/rules.ts";
import { send } from "../../src/call/stages/send.ts";
import type { Stage } from "../../src/call/stages/stage.ts";
import { trace } from "../../src/call/stages/trace.ts";
import type { EndedCall } from "../../src/call/observer.ts";
import { type Config, DEFAULTS } from "../../src/config/schema.ts";
import { type Call, type CallResult, type Human, nobody } from "../../src/model/call.ts";
import { type AuditEvent, createProvenance, createRulebook, createRuleHistory } from "../../src/policy/mod.ts";
import { AgentCardsError } from "../../src/model/errors.ts";
import type { Operation, Traces } from "../../src/telemetry/mod.ts";

const DONE: CallResult = { kind: "result", result: { content: [{ type: "text", text: "done" }] } };

function makeCall(more: Partial<Call> = {}): Call {
  return {
    ...nobody(new AbortController().signal),
    id: "1",
    address: { server: "bank", name: "pay" },
    method: "tools/call",
    params: { name: "pay", arguments: { to: "ada" } },
    origin: { by: "agent" },
    effect: "effectful",
    ...more,
  };
}

/** Sends a call through one stage and gives the call that came out at its end. */
async function pass(stage: Stage, call: Call, result: CallResult = DONE): Promise<{ sent?: Call; result: CallResult }> {
  let sent: Call | undefined;
  const given = await stage(call, (next) => {
    sent = next;
    return Promise.resolve(result);
  });
  return { ...sent && { sent }, result: given };
}

const denied = (code: string) => (error: unknown) => error instanceof AgentCardsError && error.code === code;

/** A session with the few members that the stages use. */
function makeSession(more: Record<string, unknown> = {}): Session {
  return {
    cwd: "/",
    config: { servers: {}, policy: DEFAULTS.policy },
    client: { tell() {} },
    inMemory: () => undefined,
    calls: () => new Set(),
    ...more,
  } as unknown as Session;
}

/** A session that judges by a policy. */
function judgingSession(policy: Config["policy"]): Session {
  const ruleHistory = createRuleHistory("/nowhere");
  const book = createRulebook(policy, {
    rules: { all: [], windowMs: 0 },
    history: ruleHistory,
    counters: ruleHistory.counters,
    check: () => Promise.reject(new Error("no program")),
    isGranted: () => false,
  });
  return makeSession({
    config: { servers: {}, policy },
    rules: book,
    provenance: createProvenance(() => false, () => ""),
    shared: { ruleHistory, audit: { append() {} } },
  });
}

Deno.test("compose() gives each stage the rest of the list, in order", async () => {
  const order: string[] = [];
  const named = (name: string): Stage => async (call, next) => {
    order.push(`${name} in`);
    const result = await next(call);
    order.push(`${name} out`);
    return result;
  };
  await compose([named("a"), named("b"), () => Promise.resolve(DONE)])(makeCall());
  assert.deepEqual(order, ["a in", "b in", "b out", "a out"]);
});

Deno.test("observe hands on every call that ended, with its id in one spelling, refused ones too", async () => {
  const ended: EndedCall[] = [];
  const stage = observe({ ended: (one) => ended.push(one) });
  await pass(stage, makeCall());
  await pass(stage, makeCall(), { kind: "result", result: { isError: true } });
  const refuse = () => Promise.reject(new AgentCardsError("TOOL_DENIED", "no"));
  await assert.rejects(stage(makeCall(), refuse), denied("TOOL_DENIED"));
  assert.deepEqual(ended.map(({ tool, ok }) => [tool, ok]), [["bank:pay", true], ["bank:pay", false], [
    "bank:pay",
    false,
  ]]);
  assert.equal(ended[2]!.result, undefined);
});

Deno.test("rules ends what is denied, notes what has to be approved, and judges addresses of resources in every spelling", async () => {
  const policy = {
    ...DEFAULTS.policy,
    preset: "minimal" as const,
    deny: ["bank:close", "files:file:///etc/*"],
    approve: ["bank:pay"],
  };
  const stage = rules(judgingSession(policy));
  const close = makeCall({ address: { server: "bank", name: "close" } });
  await assert.rejects(pass(stage, close), denied("TOOL_DENIED"));
  assert.equal((await pass(stage, makeCall())).sent?.asks, 'policy.approve has "bank:pay"');
  assert.equal((await pass(stage, makeCall({ address: { server: "bank", name: "list" } }))).sent?.asks, undefined);
  const read = (name: string) => makeCall({ method: "resources/read", address: { server: "files", name } });
  for (const uri of ["file:///etc/passwd", "file:///%65tc/passwd", "file:////etc//passwd"]) {
    await assert.rejects(pass(stage, read(uri)), denied("TOOL_DENIED"), uri);
  }
});

Deno.test("approve lets a call go on after a clear yes only", async () => {
  const approvals = {
    open: () =>
      Promise.resolve({
        id: "ap_1",
        decided: new Promise<never>(() => {}),
        over: new AbortController().signal,
        [Symbol.dispose]() {},
      }),
    use: () => false,
    leave: () => Promise.resolve("ap_2"),
  };
  const words: unknown[] = [];
  const audit = { append: ({ word }: AuditEvent) => words.push(word) };
  const stage = approve(makeSession({ shared: { approvals, audit } }));
  const asked = makeCall({ asks: "a rule" });
  assert.equal((await pass(stage, makeCall())).result, DONE, "nothing is asked without a rule");
  await assert.rejects(pass(stage, asked), denied("HUMAN_NEEDED"));
  const here = (answer: Record<string, unknown>): Human => ({
    kind: "here",
    ask: () => Promise.resolve(answer),
    approvals: "dialogue",
  });
  const yes = here({ action: "accept", content: { allow: true } });
  assert.equal((await pass(stage, { ...asked, human: yes })).result, DONE);
  for (const answer of [{ action: "accept", content: { allow: false } }, { action: "decline" }]) {
    await assert.rejects(pass(stage, { ...asked, human: here(answer) }), denied("TOOL_DENIED"));
  }
  const later = (kind: "go" | "held" | "refused"): Human => ({
    kind: "later",
    ask: () => Promise.reject(new Error("nobody")),
    canAsk: () => false,
    allow: () => Promise.resolve(kind === "go" ? { kind, approval: "hash" } : { kind, error: "no" }),
  });
  assert.equal((await pass(stage, { ...asked, human: later("go") })).sent?.approval, "hash");
  await assert.rejects(pass(stage, { ...asked, human: later("held") }), denied("APPROVAL_PENDING"));
  await assert.rejects(pass(stage, { ...asked, human: later("refused") }), denied("TOOL_DENIED"));
  assert.deepEqual(words, ["nobody", "approved", "rejected", "rejected", "approved", "waits", "rejected"]);
});

Deno.test("approve shows all that a request sends which calls no tool", async () => {
  const shown: unknown[] = [];
  const approvals = {
    open: (call: { arguments: unknown }) => {
      shown.push(call.arguments);
      return Promise.reject(new Error("enough"));
    },
    use: () => false,
  };
  const stage = approve(makeSession({ shared: { approvals } }));
  const params = { ref: { type: "ref/prompt", name: "bad" }, argument: { name: "x", value: "sent" }, _meta: {} };
  const human: Human = { kind: "here", ask: () => Promise.resolve({}), approvals: "dialogue" };
  const call = makeCall({ asks: "a rule", method: "completion/complete", params, human });
  await assert.rejects(pass(stage, call), /enough/);
  const { _meta, ...sent } = params;
  assert.deepEqual(shown, [{ method: "completion/complete", ...sent }]);
});

Deno.test("commit awaits the caller's record, and sends nothing when it fails or the call was cancelled", async () => {
  const records: unknown[] = [];
  const audit = { require: ({ kind, tool }: AuditEvent) => records.push([kind, tool]) };
  const stage = commit(makeSession({ shared: { audit } }));
  const beforeSend = (approval: string | undefined) => Promise.resolve(void records.push(approval));
  await pass(stage, makeCall({ beforeSend, approval: "hash" }));
  await pass(stage, makeCall({ effect: "read" }));
  assert.deepEqual(records, [["sent", "bank:pay"], "hash"]);
  let sent = 0;
  const next = () => Promise.resolve((sent++, DONE));
  await assert.rejects(stage(makeCall({ beforeSend: () => Promise.reject(new Error("no disk")) }), next), /no disk/);
  await assert.rejects(stage(makeCall({ beforeSend, signal: AbortSignal.abort() }), next));
  const full = commit(makeSession({ shared: { audit: { require: () => assert.fail("full disk") } } }));
  await assert.rejects(full(makeCall(), next), /full disk/);
  assert.equal(sent, 0);
});

Deno.test("audit writes one row for each call, before its answer goes out, with its end", async () => {
  const rows: AuditEvent[] = [];
  const shared = {
    audit: { append: (event: AuditEvent) => rows.push(event), digest: (text: string) => `digest of ${text}` },
    redactor: { clean: (text: string) => text.replaceAll("ada", "***") },
  };
  const session = (content: string) => makeSession({ shared, config: { audit: { content } } });
  const stage = audit(session("digests"));
  await pass(stage, makeCall());
  await pass(stage, makeCall(), { kind: "error", code: -32000, message: "no money" });
  await assert.rejects(stage(makeCall(), () => Promise.reject(new AgentCardsError("TOOL_DENIED", "no"))));
  await assert.rejects(stage(makeCall(), () => Promise.reject(new AgentCardsError("SERVER_LOST", "gone"))));
  await pass(audit(session("full")), makeCall({ origin: { by: "code", run: "wf_1", task: "pay" } }));
  assert.deepEqual(rows.map(({ tool, args, outcome, code }) => [tool, args, outcome, code]).slice(0, 4), [
    ["bank:pay", 'digest of {"to":"ada"}', "ok", undefined],
    ["bank:pay", 'digest of {"to":"ada"}', "failed", undefined],
    ["bank:pay", 'digest of {"to":"ada"}', "refused", "TOOL_DENIED"],
    ["bank:pay", 'digest of {"to":"ada"}', "error", "SERVER_LOST"],
  ]);
  assert.ok(rows.slice(0, 4).every(({ values }) => values === undefined));
  assert.deepEqual([rows[4]!.values, rows[4]!.parent, rows[4]!.by], ['{"to":"***"}', "wf_1/pay", "code"]);
});

Deno.test("privacy gives values for tokens on the way in, and tokens for values on the way out", async () => {
  const swap = (from: string, to: string) => <T>(value: T): T =>
    JSON.parse(JSON.stringify(value).replaceAll(from, to)) as T;
  const [hide, restore] = [swap("ada@x.org", "[mail:1]"), swap("[mail:1]", "ada@x.org")];
  const privacy = {
    hide,
    hideLong: <T>(value: T) => Promise.resolve(hide(value)),
    restore: <T>(value: T) => Promise.resolve(restore(value)),
    error: (error: unknown) => new Error(hide(String((error as Error).message))),
  } as unknown as Privacy;
  const told: unknown[] = [];
  const stage = hidePersonalData(privacy);
  const call = makeCall({
    params: { name: "pay", arguments: { to: "[mail:1]" } },
    client: { progress: (said) => told.push(said) },
  });
  const result = await stage(call, (next) => {
    assert.deepEqual(next.params.arguments, { to: "ada@x.org" });
    next.client.progress?.({ message: "for ada@x.org" });
    return Promise.resolve({ kind: "result", result: { content: [{ type: "text", text: "ada@x.org" }] } });
  });
  assert.deepEqual(result, { kind: "result", result: { content: [{ type: "text", text: "[mail:1]" }] } });
  assert.deepEqual(told, [{ message: "for [mail:1]" }]);
  await assert.rejects(stage(call, () => Promise.reject(new Error("no ada@x.org"))), /no \[mail:1\]/);
});

Deno.test("questions puts what a server asks to the human and repeats the call with the answer", async () => {
  const asks = { resultType: "input_required", inputRequests: { q: form("Your name?") }, requestState: "s" };
  const stage = questions(makeSession());
  const seen: unknown[] = [];
  const human: Human = {
    kind: "here",
    approvals: "dialogue",
    ask: ({ params }) => Promise.resolve((seen.push(params.message), { action: "accept", content: { name: "ada" } })),
  };
  const call = makeCall({ human, client: { capabilities: { elicitation: { form: {} } } } });
  const sent: unknown[] = [];
  const result = await stage(call, ({ params }) => {
    sent.push(params.inputResponses);
    return Promise.resolve(params.inputResponses ? DONE : { kind: "result", result: asks });
  });
  assert.equal(result, DONE);
  assert.deepEqual(seen, ["[server bank] Your name?"]);
  assert.deepEqual(sent, [undefined, { q: { action: "accept", content: { name: "ada" } } }]);
  const unable = stage(makeCall(), () => Promise.resolve({ kind: "result", result: asks }));
  await assert.rejects(unable, denied("HUMAN_NEEDED"));
});

Deno.test("trace puts a call below its task or its request, and tells the kind of its end", async () => {
  const begun: Operation[] = [];
  const ends: (string | undefined)[] = [];
  const traces = {
    task: (run: string, task: string) => task === "a" ? { traceparent: `${run} ${task}` } : undefined,
    call(operation: Operation) {
      begun.push(operation);
      return { context: { traceparent: "own" }, event() {}, end: (error?: string) => void ends.push(error) };
    },
  } as unknown as Traces;
  const stage = trace(makeSession({ config: { servers: { bank: { url: "http://x" } } } }), traces);
  const heard = { traceparent: "request", baggage: "b" };
  const { sent } = await pass(stage, makeCall({ trace: heard, origin: { by: "code", run: "wf", task: "a" } }));
  assert.deepEqual(sent!.trace, { traceparent: "own", baggage: "b" });
  assert.deepEqual(sent!.params, makeCall().params, "the arguments are as they were");
  await pass(stage, makeCall({ trace: heard }), { kind: "error", code: -1, message: "a word" });
  await pass(stage, makeCall({ method: "resources/read" }), { kind: "result", result: { isError: true } });
  await assert.rejects(stage(makeCall(), () => Promise.reject(new AgentCardsError("TIMEOUT", "late"))));
  assert.deepEqual(begun.map(({ parent, name, transport }) => [parent, name, transport]), [
    [{ traceparent: "wf a" }, "pay", "tcp"],
    [heard, "pay", "tcp"],
    [undefined, undefined, "tcp"],
    [undefined, "pay", "tcp"],
  ]);
  assert.deepEqual(ends, [undefined, "-1", "tool_error", "TIMEOUT"]);
});

Deno.test("send puts the call to its server with what its client can answer, and is known to the server meanwhile", async () => {
  const calls = new Set<Call>();
  const options: Record<string, unknown>[] = [];
  const server = {
    request: (_method: string, _params: unknown, given: Record<string, unknown> & { capabilities(): unknown }) => {
      options.push({ ...given, capabilities: given.capabilities(), waiting: calls.size });
      return Promise.resolve(DONE);
    },
  };
  const stage = send(makeSession({ shared: {}, server: () => server, calls: () => calls }));
  const capabilities = { elicitation: { form: {} }, sampling: {}, experimental: {} };
  const end = () => Promise.reject(new Error("there is no stage behind it"));
  assert.equal(await stage(makeCall({ client: { capabilities }, timeoutMs: 5 }), end), DONE);
  assert.deepEqual([options[0]!.capabilities, options[0]!.timeoutMs, options[0]!.waiting, calls.size], [
    { elicitation: { form: {} }, sampling: {} },
    5,
    1,
    0,
  ]);
  const own = makeCall({ deliver: () => Promise.resolve({ kind: "result", result: { here: true } }) });
  assert.deepEqual(await stage(own, end), { kind: "result", result: { here: true } });
});

function form(message: string) {
  return { method: "elicitation/create", params: { mode: "form", message, requestedSchema: { type: "object" } } };
}
