/** Codes of the errors that a caller or a user can act on. */
export type ErrorCode =
  | "CONFIG_INVALID"
  | "CONFIG_UNTRUSTED"
  | "HOME_UNUSABLE"
  | "USAGE"
  | "ENGINE_UNREACHABLE"
  | "ENGINE_BUSY"
  | "DB_UNUSABLE"
  | "DB_TOO_NEW"
  | "SERVER_UNKNOWN"
  | "SERVER_UNREACHABLE"
  | "SERVER_LOST"
  | "TOOL_UNKNOWN"
  | "TOOL_AMBIGUOUS"
  | "TOOL_DENIED"
  | "TOOL_WITHHELD"
  | "TOOL_FAILED"
  | "HUMAN_NEEDED"
  | "NO_HUMAN"
  | "SIGN_IN_NEEDED"
  | "APPROVAL_PENDING"
  | "CLIENT_AMBIGUOUS"
  | "CLIENT_UNABLE"
  | "INPUT_INVALID"
  | "STATE_UNKNOWN"
  | "MODEL_UNUSABLE"
  | "REFERENCE_INVALID"
  | "PLAN_INVALID"
  | "RUN_UNKNOWN"
  | "RUN_TAKEN"
  | "RUN_STATE"
  | "RESULT_GONE"
  | "SNAPSHOT_FAILED"
  | "SANDBOX_TOO_WEAK"
  | "TIMEOUT"
  | "CANCELLED"
  | "INTERNAL";

export interface ErrorDetails {
  /** The next step for the reader. */
  readonly hint?: string;
  readonly cause?: unknown;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The one error class: switch on `code`, show `message` and `hint`. */
export class AgentCardsError extends Error {
  override readonly name = "AgentCardsError";
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly data: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.code = code;
    this.hint = details.hint;
    this.data = details.data;
  }
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A thrown thing as one of ours; what is not ours becomes INTERNAL. */
export function toAgentCardsError(error: unknown): AgentCardsError {
  if (error instanceof AgentCardsError) return error;
  return new AgentCardsError("INTERNAL", messageOf(error), { cause: error });
}

/** Message and hint in one line. */
export function inOneLine(error: unknown): string {
  const { message, hint } = toAgentCardsError(error);
  return hint ? `${message}. ${hint}` : message;
}

/** Message and hint as one text, for those who can show only one. */
export function describe(error: unknown): string {
  const { message, hint } = toAgentCardsError(error);
  return hint ? `${message}\n${hint}` : message;
}
