import { type CallLog, createCallLog } from "../call/mod.ts";
import type { Home } from "../config/mod.ts";
import type { Gateway } from "../control/mod.ts";
import type { Database } from "../db/mod.ts";
import { tokens } from "../model/mod.ts";
import { createMetrics } from "../stats/mod.ts";
import { type Redactor, startTraces, type Traces } from "../telemetry/mod.ts";
import { type AnalyticsCopy, startAnalytics } from "./analytics.ts";
import { createNotices, type Notices } from "./notices.ts";

/** The parts by which an engine is seen: figures of calls, traces, notices. */
export interface Seeing extends Pick<Gateway, "stats"> {
  readonly calls: CallLog;
  readonly traces: Traces | undefined;
  readonly notices: Notices;
  readonly analytics: AnalyticsCopy;
}

export async function openSeeing(home: Home, db: Database, redactor: Redactor): Promise<Seeing> {
  const traces = await startTraces();
  const metrics = createMetrics(db);
  const calls = createCallLog(db, { metrics });
  return {
    traces,
    notices: createNotices(home),
    analytics: startAnalytics(home, redactor),
    calls: traces ? { ...calls, record: tokensTraced(traces, calls.record) } : calls,
    stats: {
      // Those that are still to be filed are included.
      usage: async (query) => (await calls.flush(), await metrics.usage(query)),
      kept: metrics.kept,
      trends: metrics.trends,
    },
  };
}

/** Has the tokens of each call counted by OpenTelemetry, too. */
function tokensTraced(traces: Traces, record: CallLog["record"]): CallLog["record"] {
  return (call) => {
    record(call);
    const { tool, bytes, bytes_in = 0, kept = 0 } = call;
    traces.tokens({ tool, tokens_in: tokens(bytes_in), tokens_out: tokens(bytes), tokens_kept: tokens(kept) });
  };
}
