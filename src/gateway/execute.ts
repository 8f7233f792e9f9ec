import { judge, type Verdict } from "../policy/rules.ts";
import type { LargeResult, Reply } from "../mcp/upstream.ts";
import { AgentCardsError, messageOf } from "../model/errors.ts";
import { withoutInvisible } from "../model/invisible.ts";
import { isObject, type JsonObject } from "../model/json.ts";
import { readBySchema } from "../model/meaning.ts";
import { cut, nearest, oneLine } from "../model/text.ts";
import { splitToolId, type Tool, toolId, WORKFLOW_SERVER } from "../model/tool.ts";
import { isReadable, shapeAnswer, shownJson, textResult, type ToolResult, unstored } from "./answer.ts";
import { argumentCheck, misspelt, signatureNote } from "./arguments.ts";
import { approve } from "./approve.ts";
import { type Caller, canPut, declared, humanNeeded, PAGE, unlessAsked } from "./caller.ts";
import { OWN_TOOLS } from "./own_tools.ts";
import { isQuestion, pageAsked, settleQuestions } from "./questions.ts";
import { newHandle } from "./results.ts";
import type { Session } from "./session.ts";

/** What goes back to the agent: a result, or one that was made ready off the main thread. */
export type Outcome =
  | { readonly kind: "result"; readonly result: ToolResult }
  | { readonly kind: "large"; readonly large: LargeResult };

export interface ToolCall {
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
  /** Passed on as it came: trace context and the like. */
  readonly meta?: Record<string, unknown>;
  /** A retry after questions: the answers and the state that belongs to them. */
  readonly retry?: Record<string, unknown>;
}

/** A tool and the server it belongs to. */
export interface ToolAddress {
  readonly server: string;
  readonly name: string;
}

/** One request to a server. */
export interface ServerCall {
  readonly server: string;
  /** What is asked; a tool is called unless this says otherwise. */
  readonly method?: string;
  readonly request: Record<string, unknown>;
  readonly timeoutMs?: number;
  readonly onSent?: () => void;
  /** Whether it is one of many that a workflow or code makes. */
  readonly isPart?: boolean;
}

/** How long a call may take where its server's definition does not say. */
export const CALL_TIMEOUT_MS = 10 * 60_000;

/** One tool call, from its name to its answer: find it, ask policy, call it, keep the answer readable. */
export async function execute(session: Session, call: ToolCall, caller: Caller): Promise<Outcome> {
  const address = resolveKnown(session, call.tool) ?? await resolveTool(session, call.tool);
  const id = toolId(address.server, address.name);
  const tool = session.inMemory(address.server, address.name);
  const given = tool ? readBySchema(call.arguments, tool.inputSchema) : call.arguments;
  const mistake = tool && misspelt(tool, given);
  if (mistake) {
    throw new AgentCardsError("INPUT_INVALID", `${id} was not called: ${mistake}`, { hint: signatureNote(tool) });
  }
  const named = (outcome: Outcome) => call.tool === id ? outcome : saying(call.tool, id, outcome);
  const done = await carryOut(session, address, { call: { ...call, arguments: given }, caller });
  if (!("reply" in done)) return named(done);
  const page = canPut(PAGE, caller) ? undefined : pageAsked(done.reply);
  if (page !== undefined) throw humanNeeded(id, `wants a human to visit a page first: ${page}`, page);
  const reply = tool && isFailure(done.reply) ? await withSignature(done.reply, tool, given) : done.reply;
  return named(await answer(session, id, reply));
}

/** Whether a server refused a call or a tool says that it failed. */
export function isFailure(reply: Reply): boolean {
  if (reply.kind === "large") return reply.large.isError;
  return reply.kind === "error" || reply.result.isError === true;
}

const INVALID_PARAMS = -32602;
/** Larger ones are not looked at: compiling a schema, and checking against it, takes time that others wait for. */
const LARGEST_SCHEMA = 16_384;
const LARGEST_ARGUMENTS = 65_536;

const isSmall = (value: unknown, most: number) => JSON.stringify(value).length <= most;

/** A failure whose arguments do not fit the tool's schema says so, and how the tool is called. */
async function withSignature(reply: Reply, tool: Tool, args: Record<string, unknown>): Promise<Reply> {
  const problems = isSmall(tool.inputSchema, LARGEST_SCHEMA) && isSmall(args, LARGEST_ARGUMENTS)
    ? await (await argumentCheck())(tool, args as JsonObject)
    : [];
  const isRefused = reply.kind === "error" && reply.code === INVALID_PARAMS;
  if (problems.length === 0 && !isRefused) return reply;
  const text = [...problems.length > 0 ? [`${problems.join("; ")}.`] : [], signatureNote(tool)].join("\n");
  if (reply.kind === "error") return { ...reply, message: `${oneLine(reply.message, 1_500)}. ${text}` };
  if (reply.kind !== "result") return reply;
  const content = Array.isArray(reply.result.content) ? reply.result.content : [];
  return { kind: "result", result: { ...reply.result, content: [...content, { type: "text", text }] } };
}

interface Asked {
  readonly call: ToolCall;
  readonly caller: Caller;
}

/** The same without making its answer readable: for a client that sees the tool itself, and so its answers as they are. */
export async function carryOut(
  session: Session,
  { server, name }: ToolAddress,
  { call, caller }: Asked,
): Promise<Outcome | { readonly reply: Reply }> {
  const id = toolId(server, name);
  const verdict = judge(session.config.policy, id);
  if (verdict.kind === "deny") throw denied(id, verdict);
  if (verdict.kind === "approve") {
    // A human sees what the server will get, not what the agent sees of it.
    const shown = await session.privacy?.restore(call.arguments, server) ?? call.arguments;
    await approve(session, { id, arguments: shown, pattern: verdict.pattern }, caller);
  }

  if (server === "agentcards") return { kind: "result", result: await OWN_TOOLS.call(session, name, call.arguments) };
  if (server === WORKFLOW_SERVER) {
    return { kind: "result", result: await session.shared.runTemplate(session, name, call.arguments, caller) };
  }
  const request = { name, arguments: call.arguments, ...call.retry, ...call.meta && { _meta: call.meta } };
  const reply = await unlessAsked(id, caller, (asked) => callServer(session, { server, request }, asked));
  return { reply };
}

/** The error of a call that policy forbids, or that nobody can be asked about. */
export function denied(id: string, verdict: Exclude<Verdict, { kind: "allow" }>): AgentCardsError {
  const why = verdict.pattern === undefined
    ? `policy.allow names "${splitToolId(id).server}" and does not have it`
    : `policy.${verdict.kind === "deny" ? "deny" : "approve"} has "${verdict.pattern}"`;
  return new AgentCardsError("TOOL_DENIED", `${id} may not be called: ${why}`, {
    hint: "Only the user can change this, in config.yaml or in the project's .agentcards/config.yaml.",
  });
}

/** Puts a call to its server and tells the observer the reply. No call is ever answered from an earlier one. */
export async function callServer(session: Session, call: ServerCall, caller: Caller): Promise<Reply> {
  const { server, request, isPart = false } = call;
  let reply: Reply | undefined;
  try {
    reply = await putToServer(session, call, caller);
    // Whoever read it off the main thread did not know which tool it is of.
    if (reply.kind === "large" && reply.large.output.kind === "stored") {
      const { output: { handle }, bytes } = reply.large;
      session.shared.results.register({ handle, tool: toolId(server, String(request.name)), bytes });
    }
    return reply;
  } finally {
    session.notice.called({ server, request, reply, isPart });
  }
}

/** Puts a call to its server, starting it when needed; questions that come back go to whoever called. */
export async function putToServer(
  session: Session,
  { server, method = "tools/call", request, timeoutMs, onSent }: ServerCall,
  caller: Caller,
): Promise<Reply> {
  const { privacy } = session;
  const callers = session.callers(server);
  callers.add(caller);
  let isAnswered = false;
  try {
    const { progress } = caller;
    const onProgress = progress && ((said: Record<string, unknown>) => {
      const clean = withoutInvisible(said);
      progress(privacy ? privacy.hide(clean, server) : clean);
    });
    const send = (params: Record<string, unknown>) =>
      session.server(server).request(method, params, {
        capabilities: declared(caller),
        ...caller.logLevel !== undefined && { logLevel: caller.logLevel },
        timeoutMs: timeoutMs ?? session.config.servers[server]?.timeout ?? CALL_TIMEOUT_MS,
        signal: caller.signal,
        ...onProgress && { onProgress },
        ...onSent && { onSent },
      });
    // What a server was given back it may repeat without a word of what it is.
    const known = new Map<string, string>();
    const put = async (params: Record<string, unknown>): Promise<Reply> => {
      if (!privacy) return await send(params);
      // Everything but what the server itself has named.
      const { _meta, name: _name, requestState: _state, ...rest } = params;
      const restored = await privacy.restore(rest, server, (value, token) => known.set(value, token));
      return withCleanQuestions(await send({ ...params, ...restored }), (value) => privacy.hide(value, server, known));
    };
    let reply = await put(request);
    isAnswered = true;
    if (isQuestion(reply)) {
      const again = (more: Record<string, unknown>) => put({ ...request, ...more });
      const tool = method === "tools/call" ? toolId(server, String(request.name)) : undefined;
      reply = await settleQuestions(reply, caller, { session, server, tool, again });
    }
    if (!privacy) return reply;
    return await hidden(reply, (value) => privacy.hideLong(value, server, known));
  } catch (error) {
    throw privacy ? privacy.error(error, server) : error;
  } finally {
    callers.delete(caller);
    const isForMany = session.config.servers[server]?.shared || session.client.isCrowd;
    if (!isAnswered && isForMany) linger(callers, caller);
  }
}

const LINGER_MS = 60_000;

/** A server may still ask for a call that was given up: for a while no other session or client is asked instead. */
function linger(callers: Set<Caller>, { signal, owner = {} }: Caller): void {
  const gone = { signal, owner };
  callers.add(gone);
  Deno.unrefTimer(setTimeout(() => callers.delete(gone), LINGER_MS) as unknown as number);
}

/** What a server asks a model is read by a model; what it asks a human goes through as it is. */
function withCleanQuestions(reply: Reply, hide: <T>(value: T) => T): Reply {
  if (reply.kind !== "result" || !isObject(reply.result.inputRequests)) return reply;
  const questions = Object.entries(reply.result.inputRequests).map(([key, question]) => [
    key,
    isObject(question) && question.method === "sampling/createMessage" ? hide(question) : question,
  ]);
  return { kind: "result", result: { ...reply.result, inputRequests: Object.fromEntries(questions) } };
}

/** A reply without personal data, whatever it is. */
async function hidden(reply: Reply, hide: <T>(value: T) => Promise<T>): Promise<Reply> {
  try {
    if (reply.kind === "error") return await hide(reply);
    if (reply.kind === "result") {
      // What a human is asked, and the state that belongs to it, go through as they are.
      const { inputRequests, requestState, ...rest } = reply.result;
      const asked = {
        ...inputRequests !== undefined && { inputRequests },
        ...requestState !== undefined && { requestState },
      };
      return { kind: "result", result: { ...await hide(rest), ...asked } };
    }
    const { large } = reply;
    if (large.isClean) return reply;
    // Of a server that was started under another policy: what was stored is hidden when it is read.
    const clean = await hide(JSON.parse(new TextDecoder().decode(large.json)));
    const [json, shown] = [JSON.stringify(clean), shownJson(clean)].map((text) => new TextEncoder().encode(text));
    return {
      kind: "large",
      large: { ...large, json: json!, shown: shown!, output: await hide(large.output), isClean: true },
    };
  } catch (error) {
    return {
      kind: "result",
      result: textResult(`It was answered, but the answer is withheld: ${messageOf(error)}`),
    };
  }
}

/** The upstream's reply as an answer: unchanged, unless it is an error or too long to read. */
function answer(session: Session, id: string, reply: Reply): Outcome | Promise<Outcome> {
  if (reply.kind === "large") return { kind: "large", large: reply.large };
  if (reply.kind === "error") {
    const message = `${id} failed: ${oneLine(reply.message, 4_000)} (code ${reply.code})`;
    return { kind: "result", result: textResult(message, true) };
  }
  const { answer_tokens } = session.config.limits;
  return isReadable(reply.result, answer_tokens)
    ? { kind: "result", result: reply.result }
    : store(session, id, { result: reply.result, answerTokens: answer_tokens });
}

/** Puts a long answer aside and answers with its preview. */
async function store(
  session: Session,
  id: string,
  long: { result: ToolResult; answerTokens: number },
): Promise<Outcome> {
  const { results } = session.shared;
  const handle = newHandle();
  const { result, stored } = shapeAnswer(long.result, { answerTokens: long.answerTokens, handle });
  try {
    if (stored !== undefined) await results.write({ handle, tool: id, json: stored.json });
    return { kind: "result", result };
  } catch (error) {
    return { kind: "result", result: unstored(long.result, stored!, error) };
  }
}

/** The usual case, without waiting for anything: an id that is in memory. */
function resolveKnown(session: Session, asked: string): ToolAddress | undefined {
  const colon = asked.indexOf(":");
  if (colon < 0) return;
  const server = asked.slice(0, colon);
  const name = asked.slice(colon + 1);
  return session.inMemory(server, name) ? { server, name } : undefined;
}

/** Which server and tool a name means: `server:tool`, or a bare name that only one server has. */
export async function resolveTool(
  session: Session,
  asked: string,
  { isHinted = true }: Resolving = {},
): Promise<ToolAddress> {
  const { server, name } = splitToolId(asked);
  if (server === undefined) return await resolveBareName(session, name, isHinted);
  if (server === "agentcards") return { server, name };
  if (server === WORKFLOW_SERVER) return { server, name: (await session.shared.templates.find(name)).name };
  const live = session.server(server);
  const known = await session.known(server);
  if (known?.tools.some((tool) => tool.name === name)) return { server, name };
  // Not known, or not known any more: the server itself has the last word.
  const { tools, dropped } = await live.catalogue();
  if (tools.some((tool) => tool.name === name)) return { server, name };
  const unusable = dropped.find((note) => note.tool === name);
  if (unusable) throw new AgentCardsError("TOOL_UNKNOWN", `${asked} cannot be used: ${unusable.why}`);
  throw unknownTool(asked, isHinted ? tools : []);
}

interface Resolving {
  /** Whether the error about an unknown tool names those that come near; to find them takes time. */
  readonly isHinted?: boolean;
}

/** A bare name means a tool only where every server's list is known and one of them has it; nothing is guessed. */
async function resolveBareName(session: Session, name: string, isHinted: boolean): Promise<ToolAddress> {
  const enabled = session.status().map(({ config }) => config).filter(({ disabled }) => !disabled);
  const known = await Promise.all(enabled.map((config) => session.known(config.name)));
  const tools = known.flatMap((catalogue) => catalogue?.tools ?? []);
  const matches = tools.filter((tool) => tool.name === name).map(({ id }) => id);
  const unread = enabled.filter((_, i) => !known[i]).map((config) => config.name);
  if (matches.length === 1 && unread.length === 0) return splitToolId(matches[0]!) as ToolAddress;
  if (matches.length > 1) {
    throw new AgentCardsError("TOOL_AMBIGUOUS", `"${name}" is a tool of several servers: ${matches.join(", ")}`, {
      hint: "Call it by one of these ids.",
    });
  }
  if (unread.length === 0) throw unknownTool(name, isHinted ? tools : []);
  const servers = cut(unread.join(", "), 200);
  const text = `"${oneLine(name, 200)}" may be a tool of several servers: those of ${servers} are not known yet`;
  throw new AgentCardsError("TOOL_AMBIGUOUS", text, {
    hint: matches.length > 0 ? `Call it by its id: ${matches.join(", ")}.` : "Call it by its id, SERVER:TOOL.",
  });
}

/** The key under which an answer says which tools its bare names meant. */
export const MEANT = "agentcards/tools";
/** Above this an answer is not parsed again to say it. */
const LARGEST_PARSED = 1_000_000;

/** An outcome that says which tool a bare name meant. */
function saying(asked: string, id: string, outcome: Outcome): Outcome {
  const meant = { [MEANT]: { [asked]: id } };
  if (outcome.kind === "result") return { kind: "result", result: withMeant(outcome.result, meant) };
  const { large } = outcome;
  const [json, shown] = [large.json, large.shown].map((bytes) => bytes && splicedMeant(bytes, meant));
  return { kind: "large", large: { ...large, json: json!, ...shown && { shown } } };
}

function splicedMeant(bytes: Uint8Array, meant: Record<string, unknown>): Uint8Array {
  const text = new TextDecoder().decode(bytes);
  const json = text.length <= LARGEST_PARSED
    ? JSON.stringify(withMeant(JSON.parse(text), meant))
    : `{"_meta":${JSON.stringify(meant)},${text.slice(1)}`;
  return new TextEncoder().encode(json);
}

function withMeant(result: ToolResult, meant: Record<string, unknown>): ToolResult {
  return { ...result, _meta: { ...isObject(result._meta) ? result._meta : {}, ...meant } };
}

function unknownTool(asked: string, tools: readonly Tool[]): AgentCardsError {
  const { name } = splitToolId(asked);
  const byName = new Map(tools.map((tool) => [tool.name, tool.id]));
  const near = nearest(name, byName.keys()).map((match) => byName.get(match)!);
  return new AgentCardsError("TOOL_UNKNOWN", `There is no tool "${oneLine(asked, 200)}"`, {
    hint: near.length ? `Nearest: ${near.join(", ")}.` : "Search to find what there is.",
  });
}
