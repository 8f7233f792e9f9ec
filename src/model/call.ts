import { isObject } from "./json.ts";
import { type Ask, type Capabilities, type ServerRequest, takes } from "./question.ts";
import type { Effect, Output } from "./tool.ts";

/** The server and the name of a tool, a prompt or a resource. */
export interface Address {
  readonly server: string;
  readonly name: string;
}

/** The client behind a call: what it can be asked, and what it hears meanwhile. */
export interface Client {
  /** The session of the client; tells apart the clients of a shared server. */
  readonly owner?: unknown;
  readonly capabilities?: Capabilities | undefined;
  /** True if the client's protocol carries a server's `input_required` answer. */
  readonly takesQuestions?: boolean;
  /** Puts sampling and roots requests to the client; only those that its capabilities have. */
  readonly request?: Ask;
  readonly progress?: (progress: Record<string, unknown>) => void;
  /** Passes on log messages of servers, from `logLevel` on. */
  readonly log?: (message: Record<string, unknown>) => void;
  readonly logLevel?: string | undefined;
  /** The same object for all calls that are made for one request of the client: questions are counted by it. */
  readonly asked?: object;
  /** The line in which the questions of its calls wait; without one, that of all questions of their server. */
  readonly turn?: object | undefined;
}

/** A call that a human has to allow. */
export interface ApprovalRequest {
  readonly tool: string;
  /** The arguments as the server will get them. */
  readonly arguments: Record<string, unknown>;
  /** The hash of the tool's definition. */
  readonly definition: string;
  readonly why: string;
  /** True if the human may allow the tool for longer than this call. */
  readonly isGrantable?: boolean;
}

/** The decision of a human about a call, with the reason where one was given. */
export interface HumanWord {
  readonly word: "approve" | "reject";
  /** For how long the tool is allowed; absent: this call. */
  readonly scope?: "session" | "always";
  readonly note?: string | undefined;
}

/** The answer about a call of a run: `approval` is the hash of the approval that the call uses up. */
export type Allowance =
  | { readonly kind: "go"; readonly approval?: string }
  | { readonly kind: "held" }
  | { readonly kind: "refused"; readonly error: string };

/** The human behind a call. */
export type Human =
  /** A human who can be asked now. */
  | {
    readonly kind: "here";
    readonly ask: Ask;
    /** `dialogue` folds long values, `whole` shows every argument, `elsewhere`: approvals are decided in another way. */
    readonly approvals: "dialogue" | "whole" | "elsewhere";
    /** The key of the call that the human has allowed in this flow of requests. */
    readonly approved?: string | undefined;
    onApproved?(key: string): void;
  }
  /** A run: those who watch it are asked if they can be, else the run waits in its journal. */
  | {
    readonly kind: "later";
    readonly ask: Ask;
    canAsk(): boolean;
    allow(request: ApprovalRequest): Promise<Allowance>;
  }
  | { readonly kind: "nobody" };

/** The program or person who asked AgentCards for something. */
export interface Caller {
  readonly signal: AbortSignal;
  readonly client: Client;
  readonly human: Human;
  /** Trace context, for calls that are made for this request. */
  readonly trace?: Record<string, unknown> | undefined;
  /** The key of the client's request: its connection, its id and its content, the same in every engine. */
  readonly key?: (() => Promise<string>) | undefined;
}

/** The origin of a call: an agent or a person, code that an agent sent, and the run and task it belongs to. */
export interface Origin {
  readonly by: "agent" | "code" | "human" | "speculation";
  readonly run?: string;
  readonly task?: string;
  /** The agent program that made the call, where a task of a run is one. */
  readonly agent?: string;
  /** The saved workflows that the run is part of. */
  readonly chain?: readonly string[];
  /** The saved workflows that led to the start of the run, by triggers. */
  readonly after?: readonly string[];
}

/** A question that a preset asks, and no rule. */
export interface PresetQuestion {
  /** True if each call is asked about, and an answer holds for one. */
  readonly isOnce: boolean;
}

/** One request to a server, from its resolved address to its result. Every path builds one; stages may derive another. */
export interface Call extends Caller {
  readonly id: string;
  readonly address: Address;
  readonly method: string;
  readonly params: Record<string, unknown>;
  readonly origin: Origin;
  readonly effect: Effect;
  readonly timeoutMs?: number | undefined;
  /** The approval that a rule asks for; set by the stage that judges. */
  readonly asks?: string;
  /** How the question may be answered, where a preset asks and nothing else does. */
  readonly question?: PresetQuestion;
  /** The tools that values of the arguments came from, where that is known exactly: by the values. */
  readonly exactSources?: ReadonlyMap<string, string> | undefined;
  /** The hash of the approval that the call uses up. */
  readonly approval?: string | undefined;
  /** Awaited before the call goes out: a run writes its row. `approval`: the hash of the approval that is used up. */
  readonly beforeSend?: ((approval: string | undefined) => Promise<void>) | undefined;
  /** Told how many milliseconds the call waited for its server to start, before `beforeSend`. */
  readonly onStarted?: ((ms: number) => void) | undefined;
  /** Told when the call goes out, which is after its server has started. */
  readonly onSent?: (() => void) | undefined;
  /** The end of the way where the call is no request to a server. */
  readonly deliver?: (call: Call) => Promise<CallResult>;
  /** Ends the call because of a question that nobody can answer. */
  readonly giveUp?: (question: ServerRequest) => void;
}

/** A tool result as MCP has it; foreign, so nothing beyond `content` being an array is taken for granted. */
export type ToolResult = Record<string, unknown>;

/** The end of one call: a result, a protocol error, or a result too large to handle on the main thread. */
export type CallResult =
  | { readonly kind: "result"; readonly result: ToolResult }
  | { readonly kind: "error"; readonly code: number; readonly message: string; readonly data?: unknown }
  | { readonly kind: "large"; readonly large: LargeResult };

/** A result that was shaped off the main thread: ready to be sent on as it is. */
export interface LargeResult {
  readonly json: Uint8Array;
  /** The same for a client, where characters of it are written as escapes. */
  readonly shown?: Uint8Array;
  readonly isError: boolean;
  readonly bytes: number;
  /** The value of the result, or the place where it is stored. */
  readonly output: Output;
  /** True if personal data was taken out already. */
  readonly isClean?: boolean;
}

/** True if a server refused a call or a tool says that it failed. */
export function isFailure(result: CallResult): boolean {
  if (result.kind === "large") return result.large.isError;
  return result.kind === "error" || result.result.isError === true;
}

/** The id of the tool, or of the prompt or resource, that is called. */
export function calledId({ address: { server, name } }: Pick<Call, "address">): string {
  return `${server}:${name}`;
}

/** True if a question can be put to the human: some clients know forms only, or pages only. */
export function canPut(question: ServerRequest, { client: { capabilities }, human }: Pick<Caller, "client" | "human">) {
  return human.kind !== "nobody" && (!isObject(capabilities?.elicitation) || takes(question, capabilities));
}

/** A caller without a client that could be asked. */
export function nobody(signal: AbortSignal): Caller {
  return { signal, client: {}, human: { kind: "nobody" } };
}
