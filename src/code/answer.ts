import { howToRead, newHandle, type Session, shape } from "../call/mod.ts";
import { cut, type Json, messageOf, signature, tokens, type Tool } from "../model/mod.ts";
import type { CageOutcome, TypeProblem } from "../sandbox/mod.ts";
import { explained, NOTHING_RETURNED } from "./hints.ts";
import { type Returned, returned } from "./state.ts";

const PREVIEW_CHARACTERS = 1_200;
const SHOWN_LOGS = 50;
const SHOWN_OF_A_LOG = 500;

export interface AnswerOptions {
  /** The tools that the code was written for. */
  readonly chosen: readonly Tool[];
  readonly isCached: boolean;
  /** The sentence about the tools that it called with effect; empty where there are none. */
  readonly acted: string;
  /** The findings of a type check of code that failed. */
  readonly problems: readonly TypeProblem[];
}

/** The answer of code: its value, as much as an agent can read, and its output. */
export async function codeAnswer(
  { result, logs, metrics }: CageOutcome,
  session: Session,
  { chosen, isCached, acted, problems }: AnswerOptions,
) {
  const given = result.ok ? returned(result.value as Json) : undefined;
  const shown = logs.slice(-SHOWN_LOGS).map(({ level, text }) => `${level}: ${cut(text, SHOWN_OF_A_LOG)}`);
  const answer = {
    ...result.ok
      ? { result: await readable(given!.result, session, textIn(result, given!)) }
      : { error: explained(result.error, session) },
    ...result.ok && result.isNothing && { hint: NOTHING_RETURNED },
    ...!result.ok && acted !== "" && { acted },
    ...problems.length > 0 && { diagnostics: problems },
    ...given?.state && { state: await readable(given.state, session) },
    ...shown.length > 0 && { logs: shown },
    ...logs.length > shown.length && { logs_omitted: logs.length - shown.length },
    ...chosen.length > 0 && { tools: shownTools(chosen, !result.ok) },
    ...isCached && { cached: true },
    calls: metrics.calls,
    metrics: {
      ms: Math.round(metrics.ms * 10) / 10,
      peak_mb: metrics.peakMb,
      bytes_in: metrics.bytesIn,
      bytes_out: result.ok ? result.bytes : 0,
    },
  };
  return { json: JSON.stringify(answer), isError: !result.ok };
}

/** The type errors of code that was not run. */
export function typesAnswer(problems: readonly TypeProblem[], chosen: readonly Tool[]): string {
  const { line, column, message } = problems[0]!;
  return JSON.stringify({
    error: { type: "TypeError", message, line, column },
    diagnostics: problems,
    ...chosen.length > 0 && { tools: shownTools(chosen, true) },
    calls: 0,
  });
}

/** By name; where something went wrong, how they are called. */
function shownTools(chosen: readonly Tool[], isInFull: boolean): string[] {
  return chosen.map((tool) => isInFull ? cut(signature(tool), SHOWN_OF_A_LOG) : tool.id);
}

/** The text of a result as it came, so that tens of megabytes are not written out once more. */
function textIn({ value, json }: { value: unknown; json: string }, { result }: Returned): string | undefined {
  return result === value ? json : undefined;
}

async function readable(value: Json, session: Session, json = JSON.stringify(value)): Promise<Json> {
  if (tokens(json) <= session.config.limits.answer_tokens) return value;
  const handle = newHandle();
  const preview = cut(typeof value === "string" ? value : json, PREVIEW_CHARACTERS);
  try {
    await session.shared.results.write({ handle, tool: "agentcards:execute_code", json });
  } catch (error) {
    const note = `It could not be stored: ${messageOf(error)}`;
    return { bytes: json.length, shape: cut(shape(value), PREVIEW_CHARACTERS), preview, note };
  }
  return { handle, bytes: json.length, shape: cut(shape(value), PREVIEW_CHARACTERS), preview, read: howToRead(handle) };
}
