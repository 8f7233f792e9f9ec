import {
  argumentCheck,
  besideValue,
  codeValueOf,
  createQuestions,
  newHandle,
  outlined,
  putApproval,
  requireReadable,
  type Session,
  signatureNote,
  type ToolBook,
  toolCall,
  valueOf,
  writtenArguments,
} from "../call/mod.ts";
import { wholeOf } from "../code/mod.ts";
import { approvalHash, type CallOptions, kindOf, type RunPorts, type TaskResult, type ToolTask } from "../dag/mod.ts";
import {
  AgentCardsError,
  type Caller,
  type CallResult,
  foldArguments,
  inOneLine,
  type Json,
  type JsonObject,
  messageOf,
  oneLine,
  type Origin,
  type Output,
  splitToolId,
  toAgentCardsError,
  type ToolResult,
  WORKFLOW_SERVER,
} from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import { agentPort, type AgentServices } from "./agent_port.ts";

export interface PortOptions {
  readonly run: string;
  /** The saved workflows that the run is part of. */
  readonly chain: readonly string[];
  /** The saved workflows that led to its start. */
  readonly after: readonly string[];
  readonly session: Session;
  readonly book: ToolBook;
  /** Those who wait for the run: a question goes to the last of them who can put it to a human. */
  readonly watchers: ReadonlySet<Caller>;
  readonly runCode: RunPorts["runCode"];
  readonly agents: AgentServices;
  /** Hears how a task's own call comes along. */
  onProgress(task: string, said: Record<string, unknown>): void;
}

const ASKED_BY_TASK = "the task asks for approval";
/** A task's own time, where neither it nor its server's definition says otherwise. */
const TASK_TIMEOUT_MS = 30_000;
/** The longest value in the journal itself; a longer one goes into a file of its own. */
const INLINE_CHARACTERS = 32_768;
/** The same for what comes beside a value, which is mostly pictures. */
const INLINE_BESIDE = 4_096;
/** Larger arguments are left to their server. */
const LARGEST_CHECKED = 65_536;
const LOST = new Set(["SERVER_LOST", "SERVER_UNREACHABLE"]);

/** Gives a run what one session has: its servers, its policy, its stored results, its humans. */
export function createPorts(
  { run, chain, after, session, book, watchers, runCode, agents, onProgress }: PortOptions,
): RunPorts {
  const { results, large } = session.shared;
  const questions = createQuestions(watchers, {
    calls: session.calls,
    client: () => session.client,
    clean: (text, server) => session.privacy?.hide(text, server) ?? text,
  });

  const cleaned = (text: string) => session.privacy?.hide(text, "agentcards") ?? text;

  /** The problems of arguments that references were filled into; arguments without references were checked before. */
  async function problemsOf(task: ToolTask, args: JsonObject): Promise<string | undefined> {
    const found = book.find(task.tool);
    if (args === task.arguments || !("tool" in found) || JSON.stringify(args).length > LARGEST_CHECKED) {
      return undefined;
    }
    const problems = await (await argumentCheck())(found.tool!, args);
    return problems.length === 0
      ? undefined
      : `${problems.join("; ")}. Nothing was sent. ${signatureNote(found.tool!)}`;
  }

  /** Arguments as their tool wants them, where references were filled in. */
  function asWanted(task: ToolTask, args: JsonObject): JsonObject {
    const found = book.find(task.tool);
    return args === task.arguments || !("tool" in found) ? args : writtenArguments(found.tool!, args);
  }

  async function callTool(task: ToolTask, filled: JsonObject, options: CallOptions): Promise<TaskResult> {
    const args = options.isFromCode ? filled : asWanted(task, filled);
    const problem = options.isFromCode ? undefined : await problemsOf(task, args);
    if (problem !== undefined) return { ok: false, kind: "failed", error: problem };
    const { server, name } = splitToolId(task.tool) as { server: string; name: string };
    // The task's own time counts from the beginning; without one, starting its server is not held against a call.
    const clock = new AbortController();
    const timer = options.timeoutMs === undefined ? undefined : setTimeout(() => clock.abort(), options.timeoutMs);
    const caller = questions.begin(server, {
      signal: AbortSignal.any([options.signal, clock.signal]),
      progress: (said) => onProgress(task.id, said),
      owner: session,
      allow: async ({ why, definition, arguments: shown, isGrantable }) => {
        const hash = await approvalHash(run, { task: task.id, tool: task.tool, definition, arguments: args });
        return await options.allow({ why, hash, definition, shown, ...isGrantable && { isGrantable } });
      },
    });
    const timeoutMs = options.timeoutMs ?? session.config.servers[server]?.timeout ?? TASK_TIMEOUT_MS;
    let result: TaskResult;
    let [isSent, wasGivenUp] = [false, false];
    const onSent = () => {
      isSent = true;
      options.onSent();
    };
    try {
      const trace = [...watchers].findLast((watcher) => watcher.trace)?.trace;
      const origin: Origin = { by: options.isFromCode ? "code" : "agent", run, task: task.id, chain, after };
      const nested = server === WORKFLOW_SERVER && { key: () => Promise.resolve(`${run} ${options.key}`) };
      const given = { arguments: args, ...trace && { meta: trace } };
      const call = toolCall(session, { server, name }, given, { caller, origin });
      const { beforeSend, onStarted } = options;
      const asks = task.approve && { asks: ASKED_BY_TASK };
      const reply = await session.call({
        ...call,
        ...asks,
        ...nested,
        id: caller.id,
        timeoutMs,
        onStarted,
        onSent,
        beforeSend,
      });
      result = await replied(task.tool, reply, options.isFromCode ? codeValueOf : valueOf);
    } catch (error) {
      wasGivenUp = true;
      const question = caller.unanswered() ?? askedIn(error);
      result = question === undefined
        ? failed(task, error, { isLate: clock.signal.aborted, timeoutMs, isSent })
        : { ok: false, kind: "question", error: question };
    } finally {
      clearTimeout(timer);
      questions.end(server, caller, wasGivenUp);
    }
    return result;
  }

  function failed(task: ToolTask, error: unknown, { isLate, timeoutMs, isSent }: GivenUp) {
    const { code, data } = toAgentCardsError(error);
    if (code === "APPROVAL_PENDING") return { ok: false, kind: "held", error: messageOf(error) } as const;
    if (code === "SIGN_IN_NEEDED") return { ok: false, kind: "sign_in", error: inOneLine(error) } as const;
    const isUnsent = data?.isUnsent === true;
    const isTimeout = isLate || code === "TIMEOUT";
    const kind: "lost" | "failed" = isTimeout || LOST.has(code) ? "lost" : "failed";
    const text = isTimeout
      ? `${task.tool} did not answer within ${
        timeoutMs / 1_000
      } s and was cancelled; timeout_ms of the task gives it longer`
      : cleaned(session.shared.redactor.redact(inOneLine(error)));
    const doubt = isSent && !isUnsent && kind === "lost" && book.effectOf(task) === "effectful"
      ? `${text.endsWith(".") ? "" : "."} It may have had its effect.`
      : "";
    return { ok: false, kind, error: text + doubt, ...isUnsent && { isUnsent } } as const;
  }

  async function replied(tool: string, reply: CallResult, read: ReadValue): Promise<TaskResult> {
    if (reply.kind === "result") return await resultOf(tool, reply.result, read);
    if (reply.kind === "error") {
      return { ok: false, kind: "failed", error: `${oneLine(reply.message, 2_000)} (code ${reply.code})` };
    }
    const { isError, output, bytes } = reply.large;
    if (output.kind === "stored") await results.keepFor(run, output.handle).catch(notKept);
    if (!isError && output.kind === "value") return await resultOf(tool, wholeOf(reply.large), read);
    if (!isError) return { ok: true, output: { ...output, ...await besideOf(tool, wholeOf(reply.large)) }, bytes };
    return { ok: false, kind: "failed", error: textOf(output.kind === "value" ? output.value : output.preview) };
  }

  async function resultOf(tool: string, result: ToolResult, read: ReadValue): Promise<TaskResult> {
    if (result.isError === true) return { ok: false, kind: "failed", error: textOf(valueOf(result)) };
    const { output, bytes } = await kept(read(result), tool);
    // Code has it all in its value already.
    const beside = read === codeValueOf ? {} : await besideOf(tool, result);
    return { ok: true, output: { ...output, ...beside }, bytes };
  }

  /** The attachments of a result, as they go into the journal. */
  async function besideOf(tool: string, result: ToolResult): Promise<Pick<Output, "beside">> {
    const beside = besideValue(result);
    if (!beside) return {};
    const json = JSON.stringify(beside);
    if (json.length <= INLINE_BESIDE) return { beside };
    const handle = newHandle();
    try {
      await results.write({ handle, tool, json, run });
      return { beside: { handle } };
    } catch (error) {
      notKept(error);
      return {};
    }
  }

  /** A value as it goes into the journal: itself, or a note of where it was put. */
  async function kept(value: unknown, tool: string): Promise<{ output: Output; bytes: number }> {
    const json = JSON.stringify(value) ?? "null";
    if (json.length <= INLINE_CHARACTERS) {
      return { output: { kind: "value", value: (value ?? null) as Json }, bytes: json.length };
    }
    const handle = newHandle();
    const { shape, preview } = outlined(value);
    try {
      await results.write({ handle, tool, json, run });
      return { output: { kind: "stored", handle, steps: [], shape, preview }, bytes: json.length };
    } catch (error) {
      // The call was answered: that it cannot be kept does not make it fail, or somebody would make it again.
      notKept(error);
      const note = `The answer of ${json.length} characters could not be stored: ${cleaned(messageOf(error))}`;
      return { output: { kind: "value", value: { note, shape, preview } }, bytes: json.length };
    }
  }

  return {
    callTool,
    runCode: async (task, given, options) => {
      const result = await runCode(task, given, options);
      if (!result.ok || result.output.kind === "stored") return result;
      return { ...result, ...await kept(result.output.value, "code") };
    },
    runAgent: agentPort({
      run,
      chain,
      after,
      session,
      services: agents,
      questions,
      replied: (tool, reply) => replied(tool, reply, valueOf),
      onProgress,
    }),
    effectOf: book.effectOf,
    async toolFor({ id }, asked, args): Promise<ToolTask> {
      await book.learn([asked]);
      const found = book.find(asked);
      if ("problem" in found) throw new AgentCardsError("TOOL_UNKNOWN", cleaned(found.problem));
      return { type: "tool", id, tool: found.id, arguments: args, depends_on: [] };
    },
    serverOf: (task) => splitToolId(kindOf(task).tools(task)[0] ?? "").server ?? kindOf(task).describe(task),
    async askHuman({ why, shown = {}, isGrantable = false }, { tool = "" }, signal) {
      if (!foldArguments(shown)) return undefined;
      return await questions.putApproval(
        (ask) => putApproval(session, { tool, arguments: shown, why, isGrantable }, ask, signal),
        signal,
      );
    },
    async approvable({ id, code }, context) {
      const call = { tool: "agentcards:execute_code", arguments: { code, context } };
      const hash = await approvalHash(run, { task: id, definition: "", ...call });
      return { why: ASKED_BY_TASK, hash, definition: "", shown: call.arguments, call };
    },
    async load(handle, places) {
      await requireReadable(session, handle);
      const values = await results.read(handle, (path) => large.readValues(path, places)) as Json[];
      return session.privacy?.hide(values, "agentcards") ?? values;
    },
  };
}

/** The question that a stateless server answered with although it was not offered to ask. */
function askedIn(error: unknown): string | undefined {
  const { code, data } = toAgentCardsError(error);
  return code === "HUMAN_NEEDED" && typeof data?.question === "string" ? `it asks: ${data.question}` : undefined;
}

function notKept(error: unknown): void {
  log("warning", "result_not_stored", { reason: messageOf(error) });
}

type ReadValue = (result: ToolResult) => unknown;

interface GivenUp {
  readonly isLate: boolean;
  readonly timeoutMs: number;
  /** True if the call had gone out. */
  readonly isSent: boolean;
}

function textOf(value: unknown): string {
  return oneLine(typeof value === "string" ? value : JSON.stringify(value) ?? "", 2_000);
}
