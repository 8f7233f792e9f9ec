import type { CageOutcome } from "../sandbox/cage.ts";
import type { Json } from "../model/json.ts";
import { cut, tokens } from "../model/text.ts";
import { outlined } from "./answer.ts";
import { newHandle } from "./results.ts";
import type { Session } from "./session.ts";

const SHOWN_LOGS = 50;
const SHOWN_OF_A_LOG = 500;

/** What comes back of code: its value, within what an agent can read, and what it printed. */
export async function codeAnswer({ result, logs, metrics }: CageOutcome, session: Session) {
  const value = result.ok ? await readable(result.value as Json, session) : undefined;
  const shown = logs.slice(-SHOWN_LOGS).map(({ level, text }) => `${level}: ${cut(text, SHOWN_OF_A_LOG)}`);
  const answer = {
    ...result.ok ? { result: value } : { error: result.error },
    ...shown.length > 0 && { logs: shown },
    ...logs.length > shown.length && { logs_omitted: logs.length - shown.length },
    calls: metrics.calls,
    metrics: { ms: Math.round(metrics.ms), peak_mb: metrics.peakMb },
  };
  return { json: JSON.stringify(answer), isError: !result.ok };
}

async function readable(value: Json, session: Session): Promise<Json> {
  const { json, shape, preview } = outlined(value);
  if (tokens(json) <= session.config.limits.answer_tokens) return value;
  const handle = newHandle();
  await session.shared.results.write({ handle, tool: "agentcards:execute_code", json });
  return { handle, bytes: json.length, shape, preview };
}
