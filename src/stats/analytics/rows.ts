/** A row of the engine's record of calls and runs. */
export interface SourceRow {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: string;
  readonly [field: string]: unknown;
}

/** The tables that are copied to. */
export const TABLES = ["metrics_calls", "metrics_tokens", "metrics_costs", "metrics_runs", "metrics_agents"] as const;

export type TableName = typeof TABLES[number];

/** A row for one table; its key is `seq`, beside the name of the engine. */
export interface AnalyticsRow {
  readonly table: TableName;
  readonly seq: number;
  readonly at: number;
  readonly values: Readonly<Record<string, string | number | boolean | null>>;
}

export interface RowOptions {
  /** The configured cost of a call in dollars; 0 where none is configured. */
  costOf(tool: string): number;
}

const CHARACTERS_PER_TOKEN = 4;

/** The rows that a row of the record becomes; none for decisions and the like. Arguments and results are not among them. */
export function rowsOf(source: SourceRow, { costOf }: RowOptions): AnalyticsRow[] {
  const { seq, at } = source;
  const row = (table: TableName, values: AnalyticsRow["values"]): AnalyticsRow => ({ table, seq, at, values });
  if (source.kind === "call") {
    const tool = text(source.tool) ?? "";
    const [run, task] = placeOf(source.parent);
    const common = { tool, client: text(source.client), run };
    const usd = costOf(tool);
    const out = tokens(source.bytes_out);
    const isInside = run !== null || source.by === "code";
    return [
      row("metrics_calls", {
        ...common,
        server: tool.split(":", 1)[0]!,
        task,
        made_by: text(source.by),
        outcome: text(source.outcome),
        code: text(source.code),
        ms: number(source.ms),
      }),
      row("metrics_tokens", {
        ...common,
        tokens_in: tokens(source.bytes_in),
        tokens_out: out,
        tokens_kept: isInside ? out : 0,
      }),
      ...usd > 0 ? [row("metrics_costs", { ...common, usd })] : [],
    ];
  }
  if (source.kind !== "run") return [];
  const figures = {
    run: text(source.parent),
    status: text(source.outcome),
    ms: number(source.ms),
    tasks: number(source.tasks),
    failed: number(source.failed),
  };
  const agent = text(source.client);
  return [
    row("metrics_runs", { ...figures, client: agent }),
    ...agent === null ? [] : [row("metrics_agents", { agent, ...figures })],
  ];
}

/** The run and the task of a call: `RUN/TASK`, or `RUN`. */
function placeOf(parent: unknown): [string | null, string | null] {
  const place = text(parent);
  if (place === null) return [null, null];
  const slash = place.indexOf("/");
  return slash < 0 ? [place, null] : [place.slice(0, slash), place.slice(slash + 1)];
}

const text = (value: unknown) => typeof value === "string" ? value.toWellFormed().replaceAll("\0", "") : null;
const number = (value: unknown) => typeof value === "number" && Number.isFinite(value) ? value : null;
const tokens = (bytes: unknown) => typeof bytes === "number" ? Math.ceil(bytes / CHARACTERS_PER_TOKEN) : null;
