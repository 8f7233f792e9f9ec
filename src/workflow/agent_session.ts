import type { Session } from "../call/mod.ts";
import { valueOf } from "../call/mod.ts";
import type { AgentCall, AgentCalls, AgentTask, CallAnswer } from "../dag/mod.ts";
import {
  AgentCardsError,
  type Allowance,
  type ApprovalRequest,
  type Call,
  calledId,
  type Caller,
  type CallResult,
  cut,
  inOneLine,
  isFailure,
  isObject,
  type Json,
  type JsonObject,
  matchesPattern,
  oneLine,
  OWN_SERVER,
  toAgentCardsError,
  WORKFLOW_SERVER,
} from "../model/mod.ts";
import type { Workflows, WorkSession } from "./port.ts";

/** The parts of the engine that a session has at hand. */
export type SessionParts = Pick<WorkSession, "workflows" | "code" | "suggestions" | "promptHints">;

export interface ChildOptions {
  readonly run: string;
  readonly task: AgentTask;
  readonly agent: string;
  readonly chain: readonly string[];
  readonly after: readonly string[];
  readonly calls: AgentCalls;
  readonly parts: SessionParts;
  /** Reaches those who watch the run. */
  readonly outside: Pick<Caller, "client" | "human">;
  /** The question about a call of the agent, where a rule asks for one. */
  allow(call: Call, asked: ApprovalRequest, ask: AgentCall["allow"]): Promise<Allowance>;
  onNews(text: string): void;
}

const LOST: ReadonlySet<string> = new Set(["SERVER_LOST", "SERVER_UNREACHABLE", "TIMEOUT", "CANCELLED"]);
/** Codes of calls that wait for a person. */
const HELD = "APPROVAL_PENDING";
/** Of a longer answer the journal keeps the beginning: the agent has heard it. */
const KEPT = 4_096;

/**
 * The session of one agent task inside that of its run: the same servers, rules and records. Each call is journalled
 * under the task, and questions go to those who watch the run.
 */
export function childSession(parent: Session, options: ChildOptions): WorkSession {
  const { parts, calls } = options;
  const session = Object.create(parent) as WorkSession;
  const hooks = { ...parent.shared.hooks, isKey: () => Promise.resolve(false) };
  const own = {
    // Hooks are answered on a client's own connection only.
    shared: Object.create(parent.shared, { hooks: { value: hooks } }),
    connection: undefined,
    client: { tell() {} },
    ...parts,
    workflows: childWorkflows(parent, options),
    call: (call: Call) => made(call),
  };
  Object.defineProperties(
    session,
    Object.fromEntries(
      Object.entries(own).map(([key, value]) => [key, { value, writable: true, enumerable: true, configurable: true }]),
    ),
  );

  async function made(call: Call): Promise<CallResult> {
    const { run, task, agent, chain, after, outside, onNews } = options;
    const { address: { server }, params, effect, beforeSend, onSent } = call;
    const id = calledId(call);
    requireListed(task, call);
    const args = isObject(params.arguments) ? params.arguments as JsonObject : params as JsonObject;
    const open = calls.open(id, args, effect);
    onNews(`calls ${id}`);
    const { human } = outside;
    try {
      const reply = await parent.call({
        ...call,
        signal: AbortSignal.any([call.signal, open.signal]),
        origin: { ...call.origin, run, task: task.id, chain, after, agent },
        client: { ...outside.client, progress: call.client.progress },
        human: human.kind === "later" ? { ...human, allow: (asked) => options.allow(call, asked, open.allow) } : human,
        // A saved workflow is answered as one that a task calls.
        ...server === WORKFLOW_SERVER && { key: () => Promise.resolve(`${run} ${task.id} ${crypto.randomUUID()}`) },
        async beforeSend(approval) {
          await beforeSend?.(approval);
          await open.beforeSend(approval);
        },
        onSent() {
          onSent?.();
          open.onSent();
        },
      });
      await open.answered(...answerOf(reply));
      await open.heard();
      return reply;
    } catch (error) {
      const { code } = toAgentCardsError(error);
      if (code === HELD || LOST.has(code) || open.signal.aborted) open.lost(inOneLine(error));
      else await open.answered({ kind: "error", error: oneLine(inOneLine(error), 2_000) }, 0);
      await open.heard();
      throw error;
    }
  }

  return session;
}

/** The tools that a task names are all that its agent may call. */
function requireListed({ tools, id }: AgentTask, call: Call): void {
  const tool = calledId(call);
  if (!tools || call.address.server === OWN_SERVER || tools.some((pattern) => matchesPattern(pattern, tool))) return;
  throw new AgentCardsError(
    "TOOL_DENIED",
    `${tool} may not be called: the task ${id} names ${cut(tools.join(", "), 300)}`,
  );
}

function answerOf(reply: CallResult): [CallAnswer, number] {
  if (reply.kind === "error") return [{ kind: "error", error: oneLine(reply.message, 2_000) }, 0];
  const output = reply.kind === "large" ? reply.large.output : undefined;
  const value = reply.kind === "result"
    ? valueOf(reply.result)
    : output?.kind === "value"
    ? output.value
    : output?.preview;
  const text = JSON.stringify(value) ?? "null";
  if (isFailure(reply)) return [{ kind: "error", error: cut(text, 2_000) }, text.length];
  const kept = text.length <= KEPT ? value as Json : cut(text, KEPT);
  return [{ kind: "output", output: { kind: "value", value: kept ?? null } }, text.length];
}

/** The runs that the agent starts: they are carried by the session of its own run, and are all that it may decide about. */
function childWorkflows(parent: Session, { parts: { workflows }, chain, outside }: ChildOptions): Workflows {
  const own = new Set<string>();
  const reaching = (caller: Caller): Caller => ({
    ...caller,
    client: { ...outside.client, progress: caller.client.progress },
    human: outside.human,
  });
  return {
    ...workflows,
    async start(request, decider) {
      requireNoAgents(request.tasks);
      const options = { ...request.options, chain: [...new Set([...chain, ...request.options.chain ?? []])] };
      const view = await workflows.start({ ...request, options }, {
        ...decider,
        session: parent,
        caller: reaching(decider.caller),
        onStart(view) {
          own.add(view.id);
          decider.onStart?.(view);
        },
      });
      own.add(view.id);
      return view;
    },
    async resume(request, decider) {
      if (!own.has(request.workflow_id)) {
        throw new AgentCardsError("RUN_STATE", `${oneLine(request.workflow_id, 64)} was not started by this agent`, {
          hint: "An agent in a workflow decides about the runs that it started itself.",
        });
      }
      requireNoAgents(request.tasks);
      return await workflows.resume(request, { ...decider, session: parent, caller: reaching(decider.caller) });
    },
    attach: () => Promise.resolve(undefined),
    adopt: () => Promise.resolve(),
    idsOf: () => [...own],
  };
}

/** Throws where an agent would start agents, without an end. */
export function requireNoAgents(tasks: unknown): void {
  const isAgent = (task: unknown) => isObject(task) && (task.type === "agent" || "agent" in task);
  if (!Array.isArray(tasks) || !tasks.some(isAgent)) return;
  throw new AgentCardsError("PLAN_INVALID", "An agent in a workflow cannot start other agents", {
    hint: "Put the other agent into the workflow itself, as a task of its own.",
  });
}
