import type { Call, CallResult } from "../../model/mod.ts";

/** The rest of the way of a call. */
export type Next = (call: Call) => Promise<CallResult>;

/** One step on the way of every call. A stage passes the call on, changed or not, or ends it. */
export type Stage = (call: Call, next: Next) => Promise<CallResult>;
