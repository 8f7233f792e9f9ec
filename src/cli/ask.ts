import { locateHome } from "../config/start.ts";
import type { ControlRequest, MethodName, Result } from "../control/mod.ts";
import { askEngine } from "../control/start.ts";
import { AgentCardsError } from "../model/start.ts";
import { ownProgram, system } from "../platform/start.ts";

/** A question to the engine, asked from this folder where no other is named. */
export interface Question<M extends MethodName = MethodName> extends ControlRequest<M> {
  readonly cwd?: string | undefined;
}

/** Asks this home's engine, starting one when there is none. What only reads is asked once more when the engine goes. */
export async function ask<M extends MethodName>({ cwd = system.cwd(), ...request }: Question<M>): Promise<Result<M>> {
  const env = system.env();
  const once = () => askEngine({ home: locateHome(env), cwd, env, program: ownProgram() }, request);
  try {
    return await once();
  } catch (error) {
    const isGone = error instanceof AgentCardsError && error.code === "ENGINE_UNREACHABLE";
    if (!isGone || !READING.has(request.method)) throw error;
    return await once();
  }
}

const READING: ReadonlySet<MethodName> = new Set([
  "status",
  "search",
  "tools",
  "runs",
  "run_show",
  "approvals",
  "triggers",
  "hooks",
  "policy",
  "policy_explain",
  "policy_grants",
]);
