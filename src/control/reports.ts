import type { SecretsReport } from "../call/mod.ts";
import type { SandboxReport } from "../code/mod.ts";
import type { RunEvent, TaskStatus } from "../dag/mod.ts";
import type { DatabaseState } from "../db/mod.ts";
import type { Neighbour } from "../graphrag/mod.ts";
import type { Dropped, ServerStatus } from "../mcp/mod.ts";
import type { Catalogue, Json, JsonObject, ToolNote } from "../model/mod.ts";
import type { FieldDiff, ServerReview, WithheldEntry } from "../policy/mod.ts";
import type { AnalyticsState, ContextBudget, DiskReport, Trend, UsageReport } from "../stats/mod.ts";
import type { SearchStatus } from "../vector/mod.ts";
import type { RunReport, RunStats, TaskReport } from "../workflow/mod.ts";

/** One server as `agentcards status` shows it. */
export interface ServerReport {
  readonly name: string;
  readonly origin: "global" | "project";
  /** The clients that see it; null for all. */
  readonly clients: readonly string[] | null;
  readonly kind: "stdio" | "http";
  readonly state: "disabled" | "configured" | "known" | ServerStatus["state"];
  readonly tools: number | null;
  readonly dropped: Catalogue["dropped"];
  readonly repaired: Catalogue["repaired"];
  /** What waits for a person's review, and agents do not get. */
  readonly withheld: readonly WithheldEntry[];
  /** Tools that came after the server was pinned, and that nobody looked at. */
  readonly new_tools: readonly string[];
  readonly running: number;
  /** The folder in which its program is started; null for a remote server and for one that is not started. */
  readonly cwd: string | null;
  readonly start_ms: number | null;
  /** When it last worked as far as is known, in milliseconds since 1970; null for never. */
  readonly seen_at: number | null;
  readonly error: string | null;
  /** True while it waits for the user to sign in. */
  readonly needs_sign_in: boolean;
  /** When that was, in milliseconds since 1970; null where it is so now. */
  readonly error_at: number | null;
  /** The number of dropped frames, because it sent too many, in all sessions; null if there is none. */
  readonly flood: Dropped | null;
}

export interface EngineReport {
  readonly version: string;
  readonly pid: number;
  readonly uptime_ms: number;
  readonly rss_bytes: number;
  readonly connections: number;
  readonly database: {
    readonly state: DatabaseState["kind"];
    readonly bytes: number | null;
    readonly problem: string | null;
    /** The engines that share it, and those of them that are alive; null where this one has it to itself. */
    readonly engines: { readonly known: number; readonly alive: number } | null;
  };
  readonly calls: { readonly total: number; readonly failed: number; readonly p95_ms: number | null };
  readonly config_problem: string | null;
  readonly notes: readonly string[];
  /** The folder of whoever asks, and by whose word it is trusted. */
  readonly folder: { readonly path: string; readonly trusted_by: string | null } | null;
  readonly sandbox: SandboxReport;
  readonly minimum_level: number;
  readonly pii: "off" | "tokenize";
  readonly secrets: SecretsReport;
  /** The chained record of calls: its last row, the newest row that a signed head names, and what is wrong. */
  readonly audit: {
    readonly last: number;
    readonly signed: number;
    readonly anchored: boolean;
    readonly problem: string | null;
  };
  /** The problem of the pinned definitions: their file and its copy could not be read. */
  readonly pins_problem: string | null;
  /** The free space for the home; null where the system does not tell. */
  readonly disk: DiskReport | null;
  /** The copy of figures to another database; null where none is configured. */
  readonly analytics: AnalyticsState | null;
  /** The tools that got slower or fail more than they used to. */
  readonly trends: readonly Trend[];
  readonly search: SearchReport | null;
  readonly runs: RunCounts;
  readonly suggestions: { readonly outcomes: number; readonly right: number; readonly speculate_at: number };
  /** The reads that were made ahead since the engine began, and those that were seen to be of use. */
  readonly ahead: { readonly made: number; readonly used: number };
  readonly servers: readonly ServerReport[];
}

/** The state of search, with its figures of the last day. */
export interface SearchReport extends SearchStatus {
  readonly tools: number;
  readonly queries: number;
  readonly p95_ms: number | null;
}

/** The definitions of a server that wait for a person, with their differences from the accepted ones. */
export type ReviewReport = Omit<ServerReview, "items"> & {
  readonly items: readonly (Omit<ServerReview["items"][number], "before" | "after"> & {
    readonly isTooLarge: boolean;
    readonly diff: readonly FieldDiff[];
  })[];
};

/** The result of indexing one server. */
export interface IndexReport {
  readonly server: string;
  readonly ok: boolean;
  readonly tools: number;
  /** The tokens of its tools for an agent that reads all of them. */
  readonly tokens: number;
  readonly ms: number;
  /** Tools whose definitions have what no honest one contains, and the reason. */
  readonly flagged?: readonly ToolNote[];
  readonly error?: string;
  /** Present where the error is that the user has to sign in. */
  readonly needs_sign_in?: true;
}

/** Runs that are not over, and those of them that only a human can let go on. */
export interface RunCounts {
  readonly running: number;
  readonly paused: number;
  readonly approvals: number;
}

/** The progress of `index`: how many servers are done, and the newest report. */
export interface IndexProgress extends IndexReport {
  readonly done: number;
  readonly of: number;
}

/** The progress of `embed`. */
export interface EmbedProgress {
  readonly done: number;
  readonly of: number;
  readonly download: SearchStatus["download"];
}

/** The state of the index once every known tool is in it. */
export interface EmbedReport {
  readonly indexed: number;
  readonly model: string;
  readonly dimension: number | null;
}

/** The events of a run that goes on: first the run with its tasks, then each event. */
export type RunProgress =
  | { readonly id: string; readonly reports: readonly TaskReport[] }
  | { readonly event: RunEvent };

/** A call that waits for a human. */
export interface ApprovalReport {
  readonly id: string;
  readonly cwd: string;
  readonly since: number;
  /** The task of a run; absent for a call by itself, whose dialogue is open in a client. */
  readonly task?: string;
  readonly tool: string;
  readonly arguments: Json;
  readonly why: string;
  /** The hash of the exact calls that would be approved; goes back with the decision. */
  readonly hash: string;
}

/** The known dependencies of one tool, or of all. */
export interface GraphReport {
  readonly tools: number;
  readonly edges: number;
  readonly tool?: string;
  readonly neighbours?: readonly Neighbour[];
  /** The dependencies that its schemas suggest, whether observed or not. */
  readonly promised?: readonly { readonly tool: string; readonly path: string; readonly parameter: string }[];
  readonly path?: readonly string[] | null;
  readonly dot?: string;
}

/** A saved workflow as lists show it; `problem`: why its file cannot be used. */
export interface SavedReport {
  readonly name: string;
  readonly path: string;
  readonly description: string;
  readonly tasks: number;
  readonly version?: string;
  readonly parameters?: JsonObject;
  readonly problem?: string;
}

/** A chain of direct calls that came back, as the file of a workflow. */
export interface ChainReport {
  readonly id: string;
  readonly times: number;
  readonly tools: readonly string[];
  readonly text: string;
}

/** An event of a run without the values in it: what a page needs to draw the run. */
export interface RunNotice {
  readonly run: string;
  readonly seq: number;
  readonly at: number;
  readonly kind: RunEvent["kind"];
  readonly task?: string;
  readonly attempt?: number;
  readonly status?: string;
  readonly ms?: number;
  readonly bytes?: number;
  readonly effect?: string;
  readonly tool?: string;
  readonly by?: string;
  /** An error, a reason or a decision, shortened. */
  readonly text?: string;
}

/** The things that a page is told as they happen. */
export type WatchProgress =
  | { readonly engine: { readonly pid: number; readonly version: string } }
  /** Every run named in the request has caught up. */
  | { readonly caught_up: true }
  | { readonly event: RunNotice }
  /** The number of calls whose dialogue is open. */
  | { readonly approvals: number };

/** A run as a page draws it. */
export interface RunPage extends RunReport {
  readonly reports: readonly TaskReport[];
  readonly notices: readonly RunNotice[];
  readonly stats: RunStats;
}

/** One task with its definition, what was sent, and all that happened to it. */
export interface TaskDetails {
  readonly id: string;
  readonly status: TaskStatus | "waiting" | "running";
  readonly definition: Json;
  readonly sent: Json;
  readonly output: Json;
  readonly error: string | null;
  readonly note: string | null;
  readonly events: readonly Json[];
  /** Values that were too long were cut. */
  readonly is_cut: boolean;
}

/** The figures of the page that a person keeps open. */
export interface NowReport {
  readonly version: string;
  readonly pid: number;
  readonly uptime_ms: number;
  readonly rss_bytes: number;
  readonly connections: number;
  readonly database: DatabaseState["kind"];
  readonly problems: readonly string[];
  /** News that needs nobody: tools that are not as they used to be. */
  readonly notes: readonly string[];
  /** Calls of the last day. */
  readonly calls: { readonly total: number; readonly failed: number; readonly p95_ms: number | null };
  /** Tokens of results that no context got in the last day. */
  readonly tokens_kept: number | null;
  /** The reads that were made ahead since the engine began, and those that were of use. */
  readonly ahead: { readonly made: number; readonly used: number };
  /** Calls and failures of each of the last 60 minutes, the oldest first. */
  readonly minutes: readonly { readonly calls: number; readonly failed: number }[];
  readonly runs: readonly RunReport[];
  readonly recent: readonly RunReport[];
  readonly waiting: number;
  readonly servers: readonly {
    readonly name: string;
    readonly state: ServerReport["state"];
    readonly error: string | null;
  }[];
  readonly folder: string | null;
}

/** The figures of calls, with what stands out in them. */
export interface StatsReport extends UsageReport {
  /** Tools that are not as they used to be. */
  readonly trends: readonly Trend[];
  /** Tools of different servers that do the same and are both used; absent unless asked for. */
  readonly overlaps?: readonly Overlap[];
  /** Null where no tools are known. */
  readonly context: ContextBudget | null;
}

/** Two tools that do the same. */
export interface Overlap {
  readonly tools: readonly [string, string];
  readonly calls: readonly [number, number];
  readonly advice: string;
}

/** The learned graph as a page draws it. */
export interface GraphPage {
  readonly nodes: readonly {
    readonly id: string;
    readonly group: number;
    readonly rank: number;
  }[];
  readonly edges: readonly {
    readonly from: string;
    readonly to: string;
    readonly reason: string;
    readonly seen: number;
    readonly failed: number;
    readonly trust: number;
  }[];
}
