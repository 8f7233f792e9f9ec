import { canonicalJson, type JsonObject, sha256 } from "../model/mod.ts";
import type { Pending, WaitingCall } from "./event.ts";

/** The time for which an approval can be used. */
export const APPROVAL_MS = 3_600_000;

/** The error of a call that a human refused. */
export const NOT_ALLOWED = "A human did not allow this call";

/** The same with the reason that the human gave. */
export function notAllowed(note: string | undefined): string {
  return note === undefined ? NOT_ALLOWED : `${NOT_ALLOWED}: ${note}`;
}

/** True if this is the error of a call that a human refused. */
export function isNotAllowed(error: string | null | undefined): boolean {
  return error === NOT_ALLOWED || error?.startsWith(`${NOT_ALLOWED}: `) === true;
}

/** A call that a human is to allow: why, and a hash of exactly what. */
export interface Approvable {
  readonly why: string;
  readonly hash: string;
  readonly definition: string;
  /** The arguments as the human is to see them; those of the task where they are the same. */
  readonly shown?: Readonly<Record<string, unknown>>;
  /** True if the human may allow the tool for longer than this call. */
  readonly isGrantable?: boolean;
  /** The call as decisions name it, where it is not that of the task itself. */
  readonly call?: Omit<WaitingCall, "task">;
}

/** The hash of an approved call: this task of this run, with this definition of its tool and these arguments. */
export async function approvalHash(
  run: string,
  call: { task: string; tool: string; definition: string; arguments: JsonObject },
): Promise<string> {
  return await sha256(canonicalJson([run, call.task, call.tool, call.definition, call.arguments]));
}

/** True if the call that a paused run shows has the hash of its approval: an edited row is never shown as the truth. */
export async function isGenuine(run: string, { calls: [call], hash, definition = "" }: Pending): Promise<boolean> {
  if (!call?.tool || !hash) return false;
  const { task, tool, arguments: given = {} } = call;
  return hash === await approvalHash(run, { task, tool, definition, arguments: given });
}
