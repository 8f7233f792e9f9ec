import type { AgentConfig, AgentProtocol } from "../config/mod.ts";
import type { AgentBudget } from "../dag/mod.ts";
import { AgentCardsError, inOneLine, type Json, type JsonObject } from "../model/mod.ts";
import { asksAgain, asksForJson, readAnswer } from "./answer.ts";
import { createMeter, type Meter, type Spent } from "./budget.ts";
import type { AgentHost, AgentJob, Protocol } from "./job.ts";
import { acp } from "./protocols/acp.ts";
import { claude } from "./protocols/claude.ts";
import { codex } from "./protocols/codex.ts";
import { command } from "./protocols/command.ts";

const PROTOCOLS: Readonly<Record<AgentProtocol, Protocol>> = { acp, claude, codex, command };

export interface AgentWork extends AgentJob {
  /** The JSON Schema of the answer. */
  readonly schema?: JsonObject | undefined;
  readonly budget: AgentBudget;
  readonly timeoutMs?: number | undefined;
}

export interface AgentWorkHost extends Omit<AgentHost, "meter"> {
  /** Gets the meter before the program starts. */
  onMeter(meter: Meter): void;
}

/** The end of an agent's work. */
export type AgentEnd =
  & { readonly spent: Spent }
  & ({ readonly ok: true; readonly value: Json } | { readonly ok: false; readonly error: string });

/** Runs an agent program until it has an answer that fits, or a bound is reached. */
export async function runAgent(work: AgentWork, host: AgentWorkHost): Promise<AgentEnd> {
  const own = new AbortController();
  let over: string | undefined;
  const end = (why: string) => {
    over ??= why;
    own.abort(new AgentCardsError("TOOL_FAILED", why));
  };
  const meter = createMeter(work.budget, { price: work.agent.price, onOver: end });
  const { timeoutMs } = work;
  const timer = timeoutMs === undefined
    ? undefined
    : setTimeout(() => end(`it did not end within ${timeoutMs} ms, the timeout_ms of the task`), timeoutMs);
  host.onMeter(meter);
  const signal = AbortSignal.any([host.signal, own.signal]);
  try {
    const value = await answerOf(work, { ...host, signal, meter });
    // A program may give its answer and only then what it cost.
    if (over === undefined) return { ok: true, value, spent: meter.spent() };
    return { ok: false, error: over, spent: meter.spent() };
  } catch (error) {
    return { ok: false, error: over ?? inOneLine(error), spent: meter.spent() };
  } finally {
    clearTimeout(timer);
    meter.close();
  }
}

async function answerOf(work: AgentWork, host: AgentHost): Promise<Json> {
  const { schema, prompt } = work;
  const speak = PROTOCOLS[work.agent.protocol];
  let session = work.session;
  let canGoOn = false;
  const noting: AgentHost = {
    ...host,
    async onSession(id, resumes) {
      canGoOn = resumes;
      session = id;
      await host.onSession(id, resumes);
    },
  };
  if (!schema) return await speak(work, noting);
  const read = await readAnswer(await speak({ ...work, prompt: prompt + asksForJson(schema) }, noting), schema);
  if (read.ok) return read.value;
  // Once more, in the session that knows the task.
  const again = canGoOn
    ? await readAnswer(await speak({ ...work, session, prompt: asksAgain(read.problem, schema) }, noting), schema)
    : read;
  if (again.ok) return again.value;
  throw new AgentCardsError("TOOL_FAILED", `its answer does not fit the schema: ${again.problem}`);
}

/** True for a program whose own tools are off, so that everything it does goes through us. */
export function isHeld({ protocol }: Pick<AgentConfig, "protocol">, hasOwnTools: boolean): boolean {
  return protocol === "claude" && !hasOwnTools;
}
