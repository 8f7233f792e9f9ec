import {
  AUTO,
  type Choice,
  factsOf,
  type GatewayEntry,
  isHeld,
  type Meter,
  type PastSuccess,
  resumedPrompt,
  routesFor,
  runAgent,
  type Spent,
} from "../agents/mod.ts";
import { type createQuestions, type Session, textResult, toolCall } from "../call/mod.ts";
import { type AgentConfig, requireAgent, sessionFolder } from "../config/mod.ts";
import { type AgentOptions, type AgentTask, approvalHash, type RunPorts, type TaskResult } from "../dag/mod.ts";
import {
  AGENT_SERVER,
  AgentCardsError,
  type Call,
  calledId,
  type CallResult,
  inOneLine,
  isObject,
  type Json,
  type JsonObject,
  nobody,
  oneLine,
  type Origin,
  toAgentCardsError,
  toolId,
} from "../model/mod.ts";
import { childSession, type SessionParts } from "./agent_session.ts";
import type { WorkSession } from "./port.ts";
import type { ReportBook } from "./supervisors/reports.ts";

/** The way by which the program of an agent reaches its session. */
export interface AgentLink extends AsyncDisposable {
  readonly entry: GatewayEntry;
}

/** The parts of the engine that agent tasks need. */
export interface AgentServices {
  /** The ends of agent tasks so far. */
  readonly past: PastSuccess;
  /** The reports of supervisors, which an agent of the same run or folder is told. */
  readonly reports: Pick<ReportBook, "list">;
  parts(): SessionParts;
  openLink(session: WorkSession): Promise<AgentLink>;
}

export interface AgentPortOptions {
  readonly run: string;
  readonly chain: readonly string[];
  readonly after: readonly string[];
  readonly session: Session;
  readonly services: AgentServices;
  readonly questions: ReturnType<typeof createQuestions>;
  /** The end of a task by the answer of its call. */
  replied(tool: string, reply: CallResult): Promise<TaskResult>;
  onProgress(task: string, said: Record<string, unknown>): void;
}

const ASKED_BY_TASK = "the task asks for approval";

/** Runs the agent tasks of a run: each is a call of `agent:NAME`, at the end of which the program works. */
export function agentPort(options: AgentPortOptions): RunPorts["runAgent"] {
  const { session, services: { past } } = options;
  return async (task, input, how) => {
    const prompt = typeof input.prompt === "string" ? input.prompt : JSON.stringify(input.prompt);
    const facts = factsOf(task, prompt, session.cwd);
    let result: TaskResult | undefined;
    try {
      for (const { agent, why } of await choicesFor(session, task, { facts, past, before: how.session?.agent })) {
        const reason = task.agent === AUTO ? `auto chose ${agent}: ${why}` : undefined;
        const { end, isRefused } = await attempt(options, { ...task, agent }, { prompt, input, how, reason });
        const isAnEnd = !isRefused && !how.signal.aborted && (end.ok || end.kind === "failed");
        if (isAnEnd) past.note(agent, facts.traits, end.ok);
        result = end;
        // Another agent takes what this one may not begin; what has begun has its end.
        if (task.agent !== AUTO || !isRefused) break;
      }
      return result!;
    } catch (error) {
      return { ok: false, kind: "failed", error: inOneLine(error) };
    }
  };
}

interface Choosing extends Omit<Parameters<typeof routesFor>[1], "task"> {
  /** The agent of an attempt before. */
  readonly before: string | undefined;
}

/** The agents for a task, the first choice first. A session is gone on with by the agent that began it. */
async function choicesFor(session: Session, task: AgentTask, { before, ...routing }: Choosing): Promise<Choice[]> {
  if (task.agent !== AUTO) return [{ agent: task.agent, why: "" }];
  if (before !== undefined) return [{ agent: before, why: "it had begun" }];
  return await routesFor(session, { task, ...routing });
}

interface Attempt {
  readonly prompt: string;
  readonly input: JsonObject;
  readonly how: AgentOptions;
  /** The reason of the choice, where there was one. */
  readonly reason: string | undefined;
}

/** Lets one agent work on the task. `isRefused`: a rule did not let it begin. */
async function attempt(
  options: AgentPortOptions,
  task: AgentTask,
  { prompt, input, how, reason }: Attempt,
): Promise<{ readonly end: TaskResult; readonly isRefused: boolean }> {
  const { run, chain, after, session, questions, replied, onProgress } = options;
  let [isOver, hasBegun] = [false, false];
  let note = "";
  const tool = toolId(AGENT_SERVER, task.agent);
  const onNews = (text: string) => {
    if (!isOver) onProgress(task.id, { message: `${task.agent}: ${oneLine(text, 200)}` });
  };
  const caller = questions.begin(AGENT_SERVER, {
    signal: how.signal,
    progress: (said) => onProgress(task.id, said),
    owner: session,
    allow: async ({ why, definition, arguments: shown, isGrantable }) => {
      const hash = await approvalHash(run, { task: task.id, tool, definition, arguments: input });
      return await how.allow({ why, hash, definition, shown, ...isGrantable && { isGrantable } });
    },
  });
  const origin: Origin = { by: "agent", run, task: task.id, chain, after };
  const args = {
    prompt,
    ...task.model !== undefined && { model: task.model },
    ...task.cwd !== undefined && { cwd: task.cwd },
    ...task.own_tools && { own_tools: true },
  };
  const call: Call = {
    ...toolCall(session, { server: AGENT_SERVER, name: task.agent }, { arguments: args }, { caller, origin }),
    ...task.approve && { asks: ASKED_BY_TASK },
    id: caller.id,
    async beforeSend(approval) {
      hasBegun = true;
      await how.beforeSend(approval);
    },
    async deliver({ params }) {
      const given = isObject(params.arguments) ? String(params.arguments.prompt) : "";
      const outside = { client: caller.client, human: caller.human };
      const end = await work(options, { task, prompt: given, how, origin, outside, onNews });
      note = [...reason === undefined ? [] : [reason], ...end.note === "" ? [] : [end.note]].join("; ");
      return end.reply;
    },
  };
  try {
    const result = await replied(tool, await session.call(call));
    if (!result.ok) return { end: result, isRefused: false };
    const end = { ...result, ...withJson(task, result.output), ...note !== "" && { note } };
    return { end, isRefused: false };
  } catch (error) {
    const { code } = toAgentCardsError(error);
    const kind = code === "APPROVAL_PENDING" ? "held" : "failed";
    return { end: { ok: false, kind, error: inOneLine(error) }, isRefused: code === "TOOL_DENIED" && !hasBegun };
  } finally {
    isOver = true;
    questions.end(AGENT_SERVER, caller, false);
  }
}

/** A text or a number by a schema comes back as the text of its JSON. */
function withJson({ schema }: AgentTask, output: (TaskResult & { ok: true })["output"]) {
  if (!schema || output.kind !== "value" || typeof output.value !== "string") return {};
  return { output: { ...output, value: JSON.parse(output.value) as Json } };
}

interface Work {
  readonly task: AgentTask;
  readonly prompt: string;
  readonly how: AgentOptions;
  readonly origin: Origin;
  readonly outside: Pick<Call, "client" | "human">;
  onNews(text: string): void;
}

/** Starts the program with a session of its own inside the run's, and waits for its answer. */
async function work(options: AgentPortOptions, { task, prompt, how, origin, outside, onNews }: Work) {
  const { run, chain, after, session, services } = options;
  const agent = requireAgent(session.config.agents, task.agent);
  const { program, env } = session.agentProgram(agent);
  const folder = await folderOf(session, task);
  const reported = await reportsFor(services.reports, [run, session.cwd]);
  const before = how.session?.resumes && how.session.agent === agent.name ? how.session.id : undefined;
  let meter: Meter | undefined;
  const child = childSession(session, {
    run,
    task,
    agent: agent.name,
    chain,
    after,
    calls: how.calls,
    parts: services.parts(),
    outside,
    onNews,
    async allow(call, { why, definition, arguments: shown, isGrantable }, ask) {
      const tool = calledId(call);
      const args = isObject(call.params.arguments) ? call.params.arguments as JsonObject : {};
      const hash = await approvalHash(run, { task: task.id, tool, definition, arguments: args });
      const goOn = meter?.pause();
      return await ask({ why, hash, definition, shown, ...isGrantable && { isGrantable } }).finally(goOn);
    },
  });
  await using link = await services.openLink(child);
  const hasOwnTools = task.own_tools === true && agent.own_tools === true;
  const end = await runAgent({
    agent,
    program,
    env,
    folder,
    prompt: (before === undefined ? prompt : resumedPrompt(prompt, how.before)) + reported,
    model: task.model,
    session: before,
    hasOwnTools,
    gateway: link.entry,
    schema: task.schema,
    budget: { ...agent.budget, ...task.budget },
    timeoutMs: how.timeoutMs,
  }, {
    signal: how.signal,
    reaper: session.shared.reaper(),
    onMeter: (made) => meter = made,
    onSession: (id, resumes) => how.onSession({ agent: agent.name, id, resumes }),
    onNews,
    permit: (tool, input) => permitted(child, { agent, tool, input, signal: how.signal, origin }),
  });
  const note = noteOf(agent, hasOwnTools, end.spent);
  if (!end.ok) return { reply: { kind: "result", result: textResult(`${end.error} (${note})`, true) } as const, note };
  const { value } = end;
  const text = typeof value === "string" && !task.schema ? value : JSON.stringify(value);
  const result = { ...textResult(text), ...isObject(value) && { structuredContent: value } };
  return { reply: { kind: "result", result } as const, note };
}

const TOLD_REPORTS = 3;

/** The newest reports of supervisors about a run and its folder, for the prompt of its next agent. */
async function reportsFor(reports: Pick<ReportBook, "list">, subjects: readonly string[]): Promise<string> {
  const found = (await Promise.all(subjects.map((subject) => reports.list(subject)))).flat();
  if (found.length === 0) return "";
  const lines = found.slice(0, TOLD_REPORTS).map(({ supervisor, text }) => `- ${supervisor}: ${oneLine(text, 500)}`);
  return `\n\nReports of supervisors about this work:\n${lines.join("\n")}`;
}

interface OwnTool {
  readonly agent: AgentConfig;
  readonly tool: string;
  readonly input: JsonObject;
  readonly signal: AbortSignal;
  readonly origin: Origin;
}

/** Asks a human whether a program may use a tool that it brings, as about any other call. */
async function permitted(child: Session, { agent, tool, input, signal, origin }: OwnTool): Promise<boolean> {
  const name = `${agent.name}.${tool.replace(/[^\w.-]/g, "_").slice(0, 100)}`;
  const call = toolCall(child, { server: AGENT_SERVER, name }, { arguments: input }, {
    caller: nobody(signal),
    origin,
  });
  await child.call({
    ...call,
    asks: `${agent.name} wants to use a tool of its own`,
    deliver: () => Promise.resolve({ kind: "result", result: textResult("allowed") }),
  });
  return true;
}

/** The folder of the run, or one that the task names and the user trusts. */
async function folderOf({ cwd, shared, loaded }: Session, task: AgentTask): Promise<string> {
  if (task.cwd === undefined) return loaded.folder?.path ?? shared.home.run;
  const { path, trustedBy } = await sessionFolder(task.cwd, shared.home, {});
  if (trustedBy !== undefined || path === loaded.folder?.path || path === cwd) return path;
  throw new AgentCardsError(
    "CONFIG_UNTRUSTED",
    `The agent may not work in ${oneLine(task.cwd, 200)}: it is not trusted`,
    {
      hint: "Run `agentcards trust` in that folder, or leave cwd out: the agent then works in the folder of the run.",
    },
  );
}

function noteOf(agent: AgentConfig, hasOwnTools: boolean, { turns, input, output, usd }: Spent): string {
  const parts = [
    ...turns > 0 ? [`${turns} ${turns === 1 ? "turn" : "turns"}`] : [],
    ...input + output > 0 ? [`${input} tokens in, ${output} out`] : [],
    ...usd > 0 ? [`${usd.toFixed(4)} US dollars`] : [],
    ...isHeld(agent, hasOwnTools) ? [] : ["not governed: the program could use tools of its own without a question"],
  ];
  return parts.join("; ");
}
