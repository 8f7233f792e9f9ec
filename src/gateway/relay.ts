import { AgentCardsError } from "../model/errors.ts";
import { withoutInvisible } from "../model/invisible.ts";
import { isObject } from "../model/json.ts";
import { toolId } from "../model/tool.ts";
import { approve } from "./approve.ts";
import type { Caller } from "./caller.ts";
import { denied, type Outcome, putToServer } from "./execute.ts";
import { type Address, judgeOffer, promptAddress, resourceAddress, withSeenUris } from "./exposure.ts";
import type { Session } from "./session.ts";

type Message = Record<string, unknown>;

/** A client's request about a prompt or a resource. */
export interface RelayedRequest {
  readonly method: string;
  /** Without what belongs to the connection rather than to the request. */
  readonly params: Message;
  readonly meta?: Message;
  readonly retry?: Message;
}

/** What a client gets back: what a tool may give, or an error of the protocol. */
export type Answer =
  | Outcome
  | { readonly kind: "error"; readonly code: number; readonly message: string; readonly data?: unknown };

/** Requests that go to the one server whose prompt or resource they name. */
export const RELAYED: ReadonlySet<string> = new Set(["prompts/get", "resources/read", "completion/complete"]);

/** Puts a request to the server it is about and gives back what it says, under the names that the client knows. */
export async function relay(session: Session, request: RelayedRequest, caller: Caller): Promise<Answer> {
  const { method, meta, retry } = request;
  const { address: { server, name: seen }, params: given } = await addressed(session, request);
  // Policy and humans judge what the server will get, not what the agent sees of it.
  const restore = <T>(value: T) => session.privacy?.restore(value, server) ?? value;
  const [name, params] = [await restore(seen), await restore(given)];
  const id = toolId(server, name);
  const verdict = judgeOffer(session, { server, name });
  if (verdict.kind === "deny") throw denied(id, verdict);
  if (verdict.kind === "approve") {
    const shown = isObject(params.arguments) ? params.arguments : {};
    await approve(session, { id, arguments: shown, pattern: verdict.pattern }, caller);
  }
  const sent = { ...params, ...retry, ...meta && { _meta: meta } };
  const reply = await putToServer(session, { server, method, request: sent }, caller);
  if (reply.kind === "large") throw new AgentCardsError("INTERNAL", `${id} answered more than can be passed on`);
  if (reply.kind === "error") return reply;
  // A prompt is a definition that a model will follow, not data.
  const result = method === "prompts/get" ? withoutInvisible(reply.result) : reply.result;
  return { kind: "result", result: withSeenUris(session, server, result) };
}

/** Whom a request is for, and how its owner calls what it names. */
async function addressed(session: Session, { method, params }: RelayedRequest): Promise<Addressed> {
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
  throw new AgentCardsError("INPUT_INVALID", `${name} must be a text`);
}
