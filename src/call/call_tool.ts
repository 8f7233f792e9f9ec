import {
  type Address,
  AgentCardsError,
  type Call,
  calledId,
  type Caller,
  type CallResult,
  canPut,
  isFailure,
  isObject,
  type JsonObject,
  misspelt,
  oneLine,
  type Origin,
  OWN_SERVER,
  PAGE,
  readBySchema,
  type Tool,
  type ToolResult,
  WORKFLOW_SERVER,
} from "../model/mod.ts";
import { isReadable, shapeAnswer, textResult, unstored } from "./answer.ts";
import { argumentCheck, signatureNote } from "./arguments.ts";
import { humanNeeded } from "./human/asking.ts";
import { pageAsked } from "./human/server_questions.ts";
import { resolveTool } from "./resolve.ts";
import { newHandle } from "./results.ts";
import type { Session } from "./session.ts";

/** A tool call as an agent or a person makes it. */
export interface ToolCall {
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
  /** Passed on as it came: trace context and the like. */
  readonly meta?: Record<string, unknown>;
  /** A retry after questions: the answers and the state that belongs to them. */
  readonly retry?: Record<string, unknown>;
}

/** Builds the call of a tool. */
export function toolCall(
  session: Session,
  address: Address,
  { arguments: given, meta, retry }: Omit<ToolCall, "tool">,
  { caller, origin }: { readonly caller: Caller; readonly origin: Origin },
): Call {
  return {
    ...caller,
    id: crypto.randomUUID(),
    address,
    method: "tools/call",
    params: { name: address.name, arguments: given, ...retry, ...meta && { _meta: meta } },
    origin,
    effect: session.effectOf(address),
  };
}

/** Calls one tool for an agent or a person: finds the tool, sends the call, keeps the answer readable. */
export async function callTool(
  session: Session,
  call: ToolCall,
  caller: Caller,
  by: "agent" | "human" = "agent",
): Promise<CallResult> {
  const known = session.tool(call.tool);
  const { server, name } = known ?? await resolveTool(session, call.tool);
  const address = { server, name };
  const id = calledId({ address });
  const tool = known ?? session.inMemory(server, name);
  const given = tool ? readBySchema(call.arguments, tool.inputSchema) : call.arguments;
  const mistake = tool && misspelt(tool, given);
  if (mistake) {
    throw new AgentCardsError("INPUT_INVALID", `${id} was not called: ${mistake}`, { hint: signatureNote(tool) });
  }
  const made = toolCall(session, address, { ...call, arguments: given }, { caller, origin: { by } });
  const reply = await session.call(made);
  const page = reply.kind !== "error" || canPut(PAGE, caller) ? undefined : pageAsked(reply);
  if (page !== undefined) throw humanNeeded(id, `wants a human to visit a page first: ${page}`, page);
  const explained = tool && isFailure(reply) ? await withSignature(reply, tool, given) : reply;
  const answer = await readable(session, made, explained);
  return call.tool === id ? answer : withMeantTool(answer, call.tool, id);
}

const INVALID_PARAMS = -32602;
/** Larger ones are not looked at: compiling a schema, and checking against it, takes time that others wait for. */
const LARGEST_SCHEMA = 16_384;
const LARGEST_ARGUMENTS = 65_536;

const isSmall = (value: unknown, most: number) => JSON.stringify(value).length <= most;

/** A failure whose arguments do not fit the tool's schema says so, and how the tool is called. */
async function withSignature(reply: CallResult, tool: Tool, args: Record<string, unknown>): Promise<CallResult> {
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

/** A result as an agent can read it: unchanged, unless it is an error or too long. Our own results fit already. */
function readable(session: Session, call: Call, reply: CallResult): CallResult | Promise<CallResult> {
  const { address: { server } } = call;
  const id = calledId(call);
  if (reply.kind === "large" || server === OWN_SERVER || server === WORKFLOW_SERVER) return reply;
  if (reply.kind === "error") {
    const message = `${id} failed: ${oneLine(reply.message, 4_000)} (code ${reply.code})`;
    return { kind: "result", result: textResult(message, true) };
  }
  const { answer_tokens } = session.config.limits;
  const fitting = fitted(session, id, { result: reply.result, answerTokens: answer_tokens });
  return fitting instanceof Promise
    ? fitting.then((result) => ({ kind: "result", result }))
    : { kind: "result", result: fitting };
}

/** A result within a number of tokens: as it is, or its preview and the handle under which it was put aside. */
export function fitted(
  session: Session,
  id: string,
  { result, answerTokens }: { readonly result: ToolResult; readonly answerTokens: number },
): ToolResult | Promise<ToolResult> {
  return isReadable(result, answerTokens) ? result : store(session, id, { result, answerTokens });
}

/** Puts a long answer aside and answers with its preview. */
async function store(
  session: Session,
  id: string,
  long: { result: ToolResult; answerTokens: number },
): Promise<ToolResult> {
  const { results } = session.shared;
  const handle = newHandle();
  const { result, stored } = shapeAnswer(long.result, { answerTokens: long.answerTokens, handle });
  try {
    if (stored !== undefined) await results.write({ handle, tool: id, json: stored.json });
    return result;
  } catch (error) {
    return unstored(long.result, stored!, error);
  }
}

/** The key under which an answer says which tools its bare names meant. */
export const MEANT = "agentcards/tools";
/** Above this an answer is not parsed again to say it. */
const LARGEST_PARSED = 1_000_000;

/** A result that says which tool a bare name meant. */
function withMeantTool(outcome: CallResult, asked: string, id: string): CallResult {
  const meant = { [MEANT]: { [asked]: id } };
  if (outcome.kind === "error") return outcome;
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
