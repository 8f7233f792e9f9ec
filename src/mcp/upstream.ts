import type { Client, PriorDiscovery } from "@modelcontextprotocol/client";
import { AgentCardsError } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import type { Output } from "../model/tool.ts";

/** What a server answered to one request: its result, its error, or a result too large to handle on the main thread. */
export type Reply =
  | { readonly kind: "result"; readonly result: Record<string, unknown> }
  | { readonly kind: "error"; readonly code: number; readonly message: string }
  | { readonly kind: "large"; readonly large: LargeResult };

/** A result that was shaped off the main thread: ready to be sent on as it is. */
export interface LargeResult {
  readonly json: Uint8Array;
  readonly isError: boolean;
  readonly bytes: number;
  /** What it says, or where that lies. */
  readonly output: Output;
  /** Whether personal data was taken out already. */
  readonly isClean?: boolean;
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs: number;
  readonly onProgress?: (progress: Record<string, unknown>) => void;
  /** Told when the request goes out, which is after its server has started. */
  readonly onSent?: () => void;
}

/** A server that is connected and has said which protocol it speaks. */
export interface Upstream {
  readonly era: Era;
  readonly instructions?: string;
  readonly pid?: number;
  request(method: string, params: Record<string, unknown>, options: RequestOptions): Promise<Reply>;
  /** Resolves with the reason when the connection ends. */
  readonly closed: Promise<string>;
  close(): Promise<void>;
}

/** The verdict on a server's protocol, kept so that nobody has to probe for it again. */
export type Era = PriorDiscovery;

/** A question that a server asks back while it works on a call. */
export interface ServerRequest {
  readonly method: string;
  readonly params: Record<string, unknown>;
}

/** What an upstream needs from above. */
export interface UpstreamHandlers {
  onListChanged(): void;
  /** Answers a server's question, or throws. */
  onRequest(request: ServerRequest, signal: AbortSignal): Promise<Record<string, unknown>>;
}

/** The questions we are ready to carry to the person in front of the client. */
export const CAPABILITIES = { elicitation: { form: {}, url: {} } } as const;

/** The SDK's client for one connection; loaded with the first server, since it costs 0.2 s. */
export async function createClient(version: string, handlers: UpstreamHandlers): Promise<Client> {
  const { Client } = await import("@modelcontextprotocol/client");
  const client = new Client({ name: "agentcards", version }, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode: "auto", probe: { timeoutMs: 5_000 } },
  });
  client.setRequestHandler("elicitation/create", async (request, context) => {
    const answer = await handlers.onRequest(
      { method: request.method, params: request.params as unknown as Record<string, unknown> },
      context.mcpReq.signal,
    );
    return answer as { action: "accept" | "decline" | "cancel" };
  });
  return client;
}

/** The verdict after a successful connect. */
export function eraOf(client: Client): Era {
  const discover = client.getDiscoverResult();
  return discover ? { kind: "modern", discover } : { kind: "legacy" };
}

/** Whether a stored verdict is one (it comes out of the database, so it is checked). */
export function isEra(value: unknown): value is Era {
  return isObject(value) && (value.kind === "legacy" || (value.kind === "modern" && isObject(value.discover)));
}

/** The error of a call that was given up, by its caller or by the clock. */
export function gaveUp(server: string, signal: AbortSignal | undefined, timeoutMs: number): AgentCardsError {
  return signal?.aborted
    ? new AgentCardsError("CANCELLED", `The call to server "${server}" was cancelled`)
    : new AgentCardsError("TIMEOUT", `Server "${server}" did not answer within ${timeoutMs / 1000} s`, {
      hint: `The call was cancelled. Raise servers.${server}.timeout in config.yaml if it needs longer.`,
    });
}
