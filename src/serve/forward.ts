import type { Session } from "../call/mod.ts";
import {
  type Address,
  AgentCardsError,
  type Caller,
  type CallResult,
  isObject,
  toolId,
  withoutInvisible,
} from "../model/mod.ts";
import { getPrompt, hasPrompt } from "../workflow/mod.ts";
import { promptAddress, resourceAddress, withSeenUris } from "./exposure.ts";

type Message = Record<string, unknown>;

/** A client's request about a prompt or a resource. */
export interface ForwardedRequest {
  readonly method: string;
  /** The params without those that belong to the connection. */
  readonly params: Message;
  readonly meta?: Message;
  readonly retry?: Message;
}

/** Sends a request to the server it is about; the result has the names that the client knows. */
export async function forward(session: Session, request: ForwardedRequest, caller: Caller): Promise<CallResult> {
  const { method, meta, retry } = request;
  const own = await ownPrompt(session, request);
  if (own) return own;
  const { address, params } = await addressed(session, request);
  const result = await session.call({
    ...caller,
    id: crypto.randomUUID(),
    address,
    method,
    params: { ...params, ...retry, ...meta && { _meta: meta } },
    origin: { by: "agent" },
    effect: "read",
  });
  if (result.kind === "error") return result;
  if (result.kind === "large") {
    throw new AgentCardsError(
      "INTERNAL",
      `${toolId(address.server, address.name)} answered more than can be passed on`,
    );
  }
  // A prompt is a definition that a model will follow, not data.
  const shown = method === "prompts/get" ? withoutInvisible(result.result) : result.result;
  return { kind: "result", result: withSeenUris(session, address.server, shown) };
}

/** The answer about a prompt of the user's own; undefined where the request is about anything else. */
async function ownPrompt(session: Session, { method, params }: ForwardedRequest): Promise<CallResult | undefined> {
  if (method === "resources/read") return undefined;
  const ref = isObject(params.ref) && params.ref.type === "ref/prompt" ? params.ref : {};
  const name = method === "prompts/get" ? params.name : ref.name;
  if (typeof name !== "string" || !await hasPrompt(session, name)) return undefined;
  const result = method === "prompts/get"
    ? await getPrompt(session, name, params.arguments)
    : { completion: { values: [] } };
  return { kind: "result", result };
}

/** The server that a request is for, and the name that this server uses. */
async function addressed(session: Session, { method, params }: ForwardedRequest): Promise<Addressed> {
  if (method === "prompts/get") {
    const address = await promptAddress(session, text(params.name, "name"));
    return { address, params: { ...params, name: address.name } };
  }
  if (method === "resources/read") {
    const address = await resourceAddress(session, text(params.uri, "uri"));
    return { address, params: { ...params, uri: address.name } };
  }
  const ref = isObject(params.ref) ? params.ref : {};
  const isPrompt = ref.type === "ref/prompt";
  const address = isPrompt
    ? await promptAddress(session, text(ref.name, "ref.name"))
    : await resourceAddress(session, text(ref.uri, "ref.uri"));
  return { address, params: { ...params, ref: { ...ref, [isPrompt ? "name" : "uri"]: address.name } } };
}

interface Addressed {
  readonly address: Address;
  readonly params: Message;
}

function text(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "" && value.length <= 10_000) return value;
  throw new AgentCardsError("INPUT_INVALID", `${name} must be a non-empty string`);
}
