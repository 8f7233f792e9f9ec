import type { StatsReport } from "../../control/mod.ts";
import { oneLine } from "../../model/mod.ts";
import type { Usage } from "../../stats/mod.ts";
import { ask } from "../ask.ts";
import { timeOf } from "../audit.ts";
import { jsonLine } from "../json_out.ts";
import { table } from "../screen/table.ts";
import { duration, painter, type Terminal } from "../screen/terminal.ts";

export interface StatsCommand {
  readonly since?: string;
  readonly json?: boolean;
}

const SHOWN_TOOLS = 20;

/** `agentcards stats [TOOL]`: calls, failures, latency and tokens by tool, server and client. */
export async function stats(tool: string | undefined, options: StatsCommand, terminal: Terminal): Promise<number> {
  const since = options.since === undefined ? undefined : timeOf(options.since);
  const report = await ask({
    method: "stats",
    params: { overlaps: true, ...tool !== undefined && { tool }, ...since !== undefined && { since } },
  });
  if (options.json) terminal.out(jsonLine(report));
  else terminal.out(textOf(report, terminal));
  return 0;
}

function textOf(report: StatsReport, { color }: Terminal): string {
  const { total, tools, servers, clients, makers, misfits, trends, overlaps = [], context } = report;
  const bold = painter(color).bind(null, "bold");
  if (total.calls === 0) return "No calls in that time. --since 30d looks further back.\n";
  const part = (name: string, some: readonly Usage[]) =>
    `${table([[name, "calls", "failed", "p50", "p95", "tokens in", "out", "kept out"], ...some.map(cellsOf)], bold)}\n`;
  const rest = tools.length - SHOWN_TOOLS;
  return [
    part("tool", tools.slice(0, SHOWN_TOOLS)),
    rest > 0 ? `${rest} more tools; --json has all.\n\n` : "",
    servers.length > 1 ? part("server", servers) : "",
    part("client", clients.map((one) => ({ ...one, name: one.name || "(none)" }))),
    makers.length > 1 ? part("made by", makers) : "",
    `${total.calls} calls, ${total.failed} failed; ${
      count(total.tokens_kept)
    } tokens of results were kept out of contexts.\n`,
    context
      ? `All tools in a list would be ${count(context.direct_tokens)} tokens of a context; the gateway's are ${
        count(context.own_tokens)
      }.\n`
      : "",
    ...trends.map(({ why }) => `${painter(color)("yellow", "!")} ${oneLine(why, 300)}\n`),
    ...misfits.map(({ tool, misfits, problem }) =>
      `${painter(color)("yellow", "!")} ${oneLine(tool, 80)}: ${count(misfits)} ${
        misfits === 1 ? "result does" : "results do"
      } not fit its own schema: ${oneLine(problem, 200)}\n`
    ),
    ...overlaps.map(({ tools, advice }) =>
      `${tools.map((one) => oneLine(one, 80)).join(" and ")}: ${oneLine(advice, 300)}\n`
    ),
  ].join("");
}

function cellsOf({ name, calls, failed, p50_ms, p95_ms, tokens_in, tokens_out, tokens_kept }: Usage): string[] {
  const time = (ms: number | null) => ms === null ? "–" : duration(ms);
  return [
    oneLine(name, 48),
    count(calls),
    count(failed),
    time(p50_ms),
    time(p95_ms),
    count(tokens_in),
    count(tokens_out),
    count(tokens_kept),
  ];
}

const count = (value: number) => value.toLocaleString("en-US");
