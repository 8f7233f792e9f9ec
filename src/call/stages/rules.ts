import {
  AGENT_SERVER,
  AgentCardsError,
  type Call,
  calledId,
  type CallResult,
  isFailure,
  isObject,
  toAgentCardsError,
  toolId,
} from "../../model/mod.ts";
import { countedText, denied, judge, judgeAddress, type JudgedCall, type Ruling } from "../../policy/mod.ts";
import { readsOf, redacted, storedText, withheldResult } from "./result_rules.ts";
import type { Session } from "../session.ts";
import { eventOf } from "./audit.ts";
import type { Stage } from "./stage.ts";

/** Codes of calls that were not made. */
const NOT_MADE: ReadonlySet<string> = new Set(["TOOL_DENIED", "HUMAN_NEEDED", "APPROVAL_PENDING"]);
const ONLY_THE_USER = "Only the user can change this, in config.yaml or in the project's .agentcards/config.yaml.";

/**
 * Judges the call by the lists, the rules and the preset: ends a forbidden one, and notes the question that a human has
 * to answer. Judges its result, and remembers where its values came from.
 */
export function rules(session: Session): Stage {
  return async (call, next) => {
    const { method, address: { server, name } } = call;
    const { config: { policy }, rules, shared: { audit } } = session;
    const isToolCall = method === "tools/call";
    const listed = isToolCall ? judge(policy, calledId(call)) : judgeAddress(policy, server, name);
    if (listed.kind === "deny") throw denied(calledId(call), listed);
    const judged = judgedCall(session, call);
    // Nothing is awaited where no program is asked: calls that are made at once are counted one after another.
    const given = rules.judge(judged);
    const ruling = given instanceof Promise ? await given : given;
    const decided = (word: string, rule: string) =>
      audit.append({ ...eventOf(session, call), kind: "decision", rule, word });
    for (const observed of ruling.observed) decided("observed", observed);
    if (ruling.kind === "deny") {
      decided("denied", ruling.rule);
      throw new AgentCardsError("TOOL_DENIED", `${judged.tool} may not be called: ${ruling.why}`, {
        hint: ONLY_THE_USER,
      });
    }
    const isListed = listed.kind === "approve" && !isToolCall;
    const asking = isListed ? { asks: `policy.approve has "${listed.pattern}"` } : questionOf(ruling, call);
    const counting = count(session, call, { ruling, judged });
    let result: CallResult;
    try {
      result = await next(asking ? { ...call, ...asking } : call);
    } catch (error) {
      counting.ended(NOT_MADE.has(toAgentCardsError(error).code) ? "not made" : "failed");
      throw error;
    }
    counting.ended(isFailure(result) ? "failed" : "ok");
    const known = await judgedResult(session, { call, judged, result });
    if (server !== "agentcards") session.provenance.note({ kind: "result", tool: judged.tool }, readsOf(known).value);
    return known;
  };
}

/** The call as rules see it. */
export function judgedCall(session: Session, call: Call): JudgedCall {
  const { address: { server, name }, params, origin: { by, run, agent }, effect, exactSources } = call;
  const { provenance } = session;
  return {
    tool: calledId(call),
    definition: session.inMemory(server, name),
    args: isObject(params.arguments) ? params.arguments : {},
    effect,
    by,
    run,
    client: agent === undefined ? session.client.name : toolId(AGENT_SERVER, agent),
    project: session.cwd,
    isToolCall: call.method === "tools/call",
    sources: exactSources ? provenance.with(exactSources) : provenance,
  };
}

/** The question of a rule counts before that of a task, and both before that of the preset. */
function questionOf(ruling: Ruling, call: Call): Pick<Call, "asks" | "question"> | undefined {
  if (ruling.kind !== "ask") return undefined;
  if (ruling.by === "rule") return { asks: ruling.why };
  return call.asks === undefined ? { asks: ruling.why, question: { isOnce: ruling.isOnce } } : undefined;
}

/** Counts a call that was let through, for rates, budgets and conditions over the history. */
function count(session: Session, call: Call, { ruling, judged }: { ruling: Ruling; judged: JudgedCall }) {
  const { ruleHistory, audit } = session.shared;
  const counted = ruling.kind === "deny" ? [] : ruling.counted;
  const write = (amounts: typeof counted) => {
    if (amounts.length === 0) return;
    audit.append({ ...eventOf(session, call), kind: "counted", counts: countedText(amounts) });
  };
  for (const one of counted) ruleHistory.counters.add(one);
  write(counted);
  if (judged.isToolCall && judged.by === "human") session.provenance.note({ kind: "user" }, judged.args);
  else if (judged.isToolCall) session.provenance.note({ kind: "agent" }, judged.args);
  const open = ruleHistory.begin(judged.tool, judged.args);
  return {
    ended(end: "ok" | "failed" | "not made") {
      open.ended(end);
      if (end !== "not made") return;
      for (const one of counted) ruleHistory.counters.remove(one);
      write(counted.map(({ rule, amount }) => ({ rule, amount: -amount })));
    },
  };
}

interface Answered {
  readonly call: Call;
  readonly judged: JudgedCall;
  readonly result: CallResult;
}

/** The result as rules let it pass. A call that was answered is never told as failed: its result is withheld. */
async function judgedResult(session: Session, { call, judged, result }: Answered): Promise<CallResult> {
  const { rules, shared: { audit, results } } = session;
  if (!rules.judgesResultsOf(judged.tool)) return result;
  const reads = readsOf(result);
  const stored = await storedText(result, results).catch(() => undefined);
  const facts = { text: stored ?? reads.text, result: reads.value };
  const { withheld, redact, observed } = await rules.judgeResult(judged, facts);
  const decided = (word: string, rule: string) =>
    audit.append({ ...eventOf(session, call), kind: "decision", rule, word });
  for (const rule of observed) decided("observed", rule);
  if (withheld !== undefined) {
    decided("withheld", withheld);
    return withheldResult(withheld);
  }
  if (!redact) return result;
  decided("redacted", "on: result");
  // Its whole lies in a file already, under a handle that the agent would be told.
  if (stored !== undefined) return withheldResult("it is too long to be redacted, and a rule redacts it");
  return await redacted(result, redact);
}
