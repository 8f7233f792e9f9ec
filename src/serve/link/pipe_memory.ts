import { isObject } from "../../model/start.ts";
import { createOpenRequests, type OpenRequest } from "./open_requests.ts";
import { isStateless } from "../wire/era.ts";

export type Message = Record<string, unknown>;

/** Our engine always writes the id at the beginning of a line. */
const ID = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?[\d.eE+-]+)/;
const WITHDRAWN = /^\{"jsonrpc":"2\.0","method":"notifications\/cancelled","params":\{"requestId":("[^"\\]*")/;
const HEAD_BYTES = 300;
const CATCH_UP_MS = 20;

/** The frames that tell a new engine of the same version what the one before it knew. */
export interface Replay {
  /** The ids of the requests among the frames that an engine before was sent. */
  readonly again: readonly (string | number)[];
  readonly frames: readonly (Uint8Array | string)[];
}

/** Remembers the frames that a next engine must be told. */
export function createMemory() {
  const decoder = new TextDecoder();
  const open = createOpenRequests();
  /** The resources that a client of the older protocol watches. */
  const watched = new Set<string>();
  /** Questions of an engine that the client has not answered, by the JSON text of their id. */
  const questions = new Set<string>();
  let initialize: { id: string; line: Uint8Array } | undefined;
  let initialized: Uint8Array | undefined;
  const swallowed = new Set<string>();
  let swallowAcks = 0;
  let renewals = 0;

  /** Frames that went by and were not looked at yet. */
  const unread: { line: Uint8Array; kind: "sent" | "waiting" | "answer" }[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;

  /** Reading a frame takes longer than passing it on, so it is put off until nobody waits. */
  function readLater(line: Uint8Array, kind: "sent" | "waiting" | "answer"): void {
    unread.push({ line, kind });
    timer ??= setTimeout(catchUp, CATCH_UP_MS);
  }

  function catchUp(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const { line, kind } of unread.splice(0)) {
      if (kind === "answer") readAnswer(line);
      else readRequest(line, kind === "sent");
    }
  }

  function readAnswer(line: Uint8Array): void {
    const head = decoder.decode(line);
    const found = ID.exec(head);
    const withdrawn = found ? undefined : WITHDRAWN.exec(head)?.[1];
    if (withdrawn !== undefined) questions.delete(withdrawn);
    if (!found) return;
    const [start, id] = found as unknown as [string, string];
    const rest = head.slice(start.length);
    if (rest.startsWith(',"method"')) return void questions.add(id);
    const request = open.remove(id);
    if (request?.uri === undefined || rest.startsWith(',"error"')) return;
    if (request.method === "resources/subscribe") watched.add(request.uri);
    else watched.delete(request.uri);
  }

  function readRequest(line: Uint8Array, wasSent: boolean): void {
    let message: unknown;
    try {
      message = JSON.parse(decoder.decode(line));
    } catch {
      return;
    }
    if (!isObject(message)) return;
    const { id, method } = message;
    if (typeof method !== "string") return void questions.delete(JSON.stringify(id));
    const params = isObject(message.params) ? message.params : {};
    if (method === "notifications/initialized") initialized = line;
    if (method === "notifications/cancelled") open.cancel(JSON.stringify(params.requestId), wasSent);
    if (typeof id !== "string" && typeof id !== "number") return;
    const key = JSON.stringify(id);
    if (method === "initialize" && !initialize) initialize = { id: key, line };
    const meta = isObject(params._meta) ? params._meta : {};
    const isWatching = method === "resources/subscribe" || method === "resources/unsubscribe";
    open.add(key, {
      id,
      method,
      ...typeof params.name === "string" && { tool: params.name },
      ...isWatching && typeof params.uri === "string" && { uri: params.uri },
      isStateless: isStateless(meta),
      line,
      sent: wasSent ? 1 : 0,
    });
  }

  /** A frame of ours whose answer the client must not see. */
  function renewal(method: string, params: Message): string {
    const id = `agentcards-renewal-${++renewals}`;
    swallowed.add(JSON.stringify(id));
    return JSON.stringify({ jsonrpc: "2.0", id, method, params });
  }

  const answers = (given: readonly OpenRequest[], why: (request: OpenRequest) => string): Message[] =>
    given.map((request) => {
      // A handshake that failed is not to be repeated: the client knows and will try again itself.
      if (initialize?.id === JSON.stringify(request.id)) initialize = undefined;
      return failure(request, why(request));
    });

  return {
    /** Remembers a frame of the client. */
    note: (line: Uint8Array, wasSent = true) => readLater(line.slice(), wasSent ? "sent" : "waiting"),
    /** Remembers a frame of the engine. */
    noteAnswer: (line: Uint8Array) => readLater(line.slice(0, HEAD_BYTES), "answer"),
    /** True if nothing was replayed that is still to be answered. */
    isQuiet: () => swallowed.size === 0 && swallowAcks === 0,
    /** True if a frame answers a replay, which the client must not see. */
    isReplayed(line: Uint8Array): boolean {
      const head = decoder.decode(line.subarray(0, HEAD_BYTES));
      const id = ID.exec(head)?.[1];
      if (id !== undefined) return swallowed.delete(id);
      return head.includes('"notifications/subscriptions/acknowledged"') && swallowAcks > 0 && swallowAcks-- > 0;
    },
    /** Takes back the questions of an engine that is gone: nobody would hear their answers. */
    withdraw(): Message[] {
      catchUp();
      const ids = [...questions].map((id) => JSON.parse(id));
      questions.clear();
      return ids.map((requestId) => ({ method: "notifications/cancelled", params: { requestId } }));
    },
    /** The answers of requests that an engine was sent and that cannot be sent again; `all`: to this engine none can. */
    lost(all: boolean): Message[] {
      catchUp();
      return answers(open.takeLost(all), lostText);
    },
    /** The frames that a new engine must hear first. */
    replay(): Replay {
      catchUp();
      swallowed.clear();
      swallowAcks = 0;
      const frames: (Uint8Array | string)[] = [];
      if (initialize && !open.has(initialize.id)) {
        swallowed.add(initialize.id);
        frames.push(initialize.line);
        if (initialized) frames.push(initialized);
      }
      for (const uri of watched) frames.push(renewal("resources/subscribe", { uri }));
      const again: (string | number)[] = [];
      for (const { id, method, line } of open.sendAll()) {
        frames.push(line);
        if (method === "subscriptions/listen") swallowAcks++;
        else again.push(id);
      }
      return { again, frames };
    },
    /** The answers of all requests when no engine can be reached; subscriptions stay. */
    fail(why: string): Message[] {
      catchUp();
      return answers(open.takeAll(), (request) => request.sent > 0 ? `${why}\n${lostText(request)}` : why);
    },
  };
}

function failure({ id, method, isStateless }: OpenRequest, why: string): Message {
  if (method !== "tools/call") return { id, error: { code: -32603, message: why } };
  const result = { content: [{ type: "text", text: why }], isError: true };
  return { id, result: isStateless ? { resultType: "complete", ...result } : result };
}

const WENT_AWAY = "AgentCards' engine went away during this call.";

/** The answer to a request that is neither answered nor sent again. */
function lostText({ method, tool }: OpenRequest): string {
  if (method !== "tools/call") return "AgentCards' engine went away before it answered this request.";
  return tool === "run_workflow" || tool === "resume_workflow"
    ? `${WENT_AWAY} A workflow that had begun goes on by itself: do not run it again. ` +
      'resume_workflow {"action": "status"} lists it; only if it is not there, nothing was begun.'
    : `${WENT_AWAY} It may or may not have had an effect: look before you make it again.`;
}
