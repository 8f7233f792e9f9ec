import { z } from "../../deps.ts";
import type { AgentReport } from "../agents/mod.ts";
import type { Found, HookFigures } from "../call/mod.ts";
import type { Effect, HookEvent, JsonObject, Tool, ToolResult } from "../model/mod.ts";
import type { Verdict } from "../policy/mod.ts";
import type { UndoReport } from "../snapshot/mod.ts";
import type { PolicyResults } from "./policy_reports.ts";
import type {
  ContextRow,
  EngineReport as ClusterEngine,
  RunBody,
  RunDetails,
  RunReport,
  SupervisoryReport,
  TriggerReport,
  TriggerText,
} from "../workflow/mod.ts";
import type {
  ApprovalReport,
  ChainReport,
  EmbedProgress,
  EmbedReport,
  EngineReport,
  GraphPage,
  GraphReport,
  IndexProgress,
  IndexReport,
  NowReport,
  ReviewReport,
  RunPage,
  RunProgress,
  SavedReport,
  StatsReport,
  TaskDetails,
  WatchProgress,
} from "./reports.ts";

const NONE = z.strictObject({});
const text = z.string().min(1);
const optional = z.string().optional();

/** The parameters of every control method, checked when they arrive. */
export const PARAMS = {
  accept_database: NONE,
  accept_sandbox: NONE,
  /** The agent programs that are configured, or found on this machine. */
  agents: NONE,
  approvals: NONE,
  /** Records that the audit is read out, and says where it is. */
  audit_export: z.strictObject({ format: z.enum(["jsonl", "ocsf"]) }),
  backup: z.strictObject({ path: text }),
  contexts: NONE,
  call: z.strictObject({ tool: text, arguments: z.record(z.string(), z.unknown()).optional() }),
  /** The rest is checked as that of `resume_workflow` is. */
  decide: z.looseObject({ workflow_id: text, action: text, hash: optional }),
  decide_call: z.strictObject({ id: text, hash: text, action: z.enum(["approve", "reject"]), note: optional }),
  drain: NONE,
  embed: NONE,
  engines: NONE,
  hooks: z.strictObject({ limit: z.number().int().min(1).max(1_000).optional() }),
  graph: z.strictObject({ tool: optional, to: optional, dot: z.boolean().optional() }),
  /** The whole learned graph, for drawing. */
  graph_all: NONE,
  index: z.strictObject({ servers: z.array(z.string()).optional() }),
  now: NONE,
  observe: z.strictObject({ id: text }),
  policy: NONE,
  policy_explain: z.strictObject({ tool: text, arguments: z.record(z.string(), z.unknown()).optional() }),
  policy_grants: NONE,
  /** Judges the calls since a time by the policy of a text, or by the one that holds. */
  policy_replay: z.strictObject({ since: z.number().optional(), text: optional, path: optional }),
  policy_revoke: z.strictObject({ pattern: text }),
  policy_suggest: z.strictObject({ since: z.number().optional() }),
  policy_test: z.strictObject({ text: text, path: text }),
  restart: z.strictObject({ server: text }),
  /** The definitions that wait for a person, of one server or of all. */
  review: z.strictObject({ server: optional }),
  review_accept: z.strictObject({ server: text, folder: optional, hash: text }),
  /** A saved workflow by its name, the text of a file, or what `run_workflow` takes. */
  run: z.looseObject({
    name: optional,
    saved: optional,
    text: optional,
    path: optional,
    input: z.record(z.string(), z.unknown()).optional(),
    pause: z.enum(["never", "layer", "effects"]).optional(),
  }),
  /** A run without the results of its tasks. */
  run_page: z.strictObject({ id: text }),
  run_show: z.strictObject({ id: text }),
  /** One task of a run with all that it was given and gave. */
  run_task: z.strictObject({ id: text, task: text }),
  /** Takes back what a run changed in its repository; `preview` only looks. */
  run_undo: z.strictObject({
    id: text,
    task: optional,
    preview: z.boolean().optional(),
    take_back: z.boolean().optional(),
  }),
  /** Takes back what clients did in this folder since the last prompt. */
  prompt_undo: z.strictObject({ preview: z.boolean().optional(), take_back: z.boolean().optional() }),
  runs: z.strictObject({
    limit: z.number().int().min(1).max(1_000).optional(),
    status: z.array(z.enum(["running", "paused", "completed", "partial", "failed", "aborted"])).optional(),
    /** A part of the name or of the id. */
    text: optional,
    /** Runs that were created before that time, in milliseconds since 1970. */
    before: z.number().optional(),
  }),
  search: z.strictObject({ query: text, limit: z.number().int().min(1).optional(), server: optional }),
  signed_in: z.strictObject({ server: text }),
  /** The figures of calls since a time, of the last day unless told. */
  stats: z.strictObject({ tool: optional, since: z.number().optional(), overlaps: z.boolean().optional() }),
  status: NONE,
  stop: NONE,
  /** The newest reports of supervisors. */
  supervisory_reports: z.strictObject({ limit: z.number().int().min(1).max(1_000).optional() }),
  tools: z.strictObject({ server: optional }),
  trigger_off: z.strictObject({ name: text }),
  /** Switches on the text with this hash, which a person was shown. */
  trigger_on: z.strictObject({ name: text, hash: text }),
  trigger_show: z.strictObject({ name: text }),
  trigger_try: z.strictObject({ name: text }),
  triggers: NONE,
  /** Reports what happens to all runs, until the request is given up. */
  watch: z.strictObject({
    /** Runs whose events after a row are wanted, whenever they were journalled. */
    runs: z.array(z.strictObject({ id: text, after: z.number().int().min(0) })).max(100).optional(),
  }),
  /** Tells the mistakes in the text of a workflow without running it. */
  workflow_check: z.strictObject({ text: text }),
  workflow_import: z.strictObject({ name: text, text, replace: z.boolean().optional() }),
  workflow_remove: z.strictObject({ name: text }),
  workflow_save: z.strictObject({
    run: text,
    name: text,
    description: optional,
    chosen: z.array(z.string()).optional(),
    replace: z.boolean().optional(),
  }),
  workflow_show: z.strictObject({ name: text }),
  /** Chains of direct calls that came back, as files of workflows; `save` keeps the one of that id. */
  workflow_suggest: z.strictObject({ save: z.strictObject({ id: text, name: text }).optional() }),
  workflows: NONE,
} as const;

/** The name of a control method. */
export type MethodName = keyof typeof PARAMS;

/** The names of all control methods. */
export const METHOD_NAMES = Object.keys(PARAMS) as readonly MethodName[];

/** The parameters of a control method. */
export type Params<M extends MethodName> = z.output<(typeof PARAMS)[M]>;

/** A tool with the verdict of policy on it. */
export type JudgedTool = Tool & {
  readonly policy: Verdict["kind"];
  readonly effect: Effect;
  /** The clients that see it; null for all. */
  readonly clients: readonly string[] | null;
};

/** The lines of context for prompts: those that were given lately, those that were used, the confidence they need. */
interface HintReport {
  readonly given: number;
  readonly used: number;
  readonly hint_at: number;
}

interface Results extends PolicyResults {
  accept_database: { readonly problem: string | null };
  accept_sandbox: { readonly level: number };
  agents: readonly AgentReport[];
  supervisory_reports: readonly SupervisoryReport[];
  approvals: readonly ApprovalReport[];
  audit_export: Record<never, never>;
  backup: { readonly bytes: number };
  call: { readonly result: ToolResult; readonly value: unknown };
  decide: RunBody;
  decide_call: Record<never, never>;
  contexts: readonly ContextRow[];
  /** The runs that came to rest. */
  drain: { readonly runs: number };
  embed: EmbedReport;
  engines: readonly ClusterEngine[];
  graph: GraphReport;
  graph_all: GraphPage;
  /** The newest events of clients' hooks, and figures about them. */
  hooks: { readonly figures: HookFigures; readonly hints: HintReport; readonly events: readonly HookEvent[] };
  index: readonly IndexReport[];
  now: NowReport;
  observe: RunDetails;
  restart: { readonly stopped: number };
  review: { readonly problem: string | null; readonly servers: readonly ReviewReport[] };
  review_accept: { readonly accepted: number };
  run: RunBody;
  run_page: RunPage;
  run_show: RunDetails;
  run_task: TaskDetails;
  prompt_undo: UndoReport;
  run_undo: UndoReport;
  runs: readonly RunReport[];
  search: Found;
  /** The number of tools of the server, and the runs that go on. */
  signed_in: { readonly tools: number; readonly runs: readonly string[] };
  stats: StatsReport;
  status: EngineReport;
  stop: { readonly pid: number };
  tools: { readonly tools: readonly JudgedTool[]; readonly notes: readonly string[] };
  trigger_off: { readonly off: readonly string[] };
  trigger_on: TriggerText;
  trigger_show: TriggerText;
  trigger_try: RunBody;
  triggers: readonly TriggerReport[];
  watch: Record<never, never>;
  workflow_check: { readonly problem: string | null; readonly tasks: number; readonly parameters?: JsonObject };
  workflow_import: SavedReport;
  workflow_remove: { readonly removed: string; readonly path: string };
  workflow_save: SavedReport;
  workflow_show: SavedReport & { readonly text: string };
  workflow_suggest: { readonly offers: readonly ChainReport[]; readonly saved: SavedReport | null };
  workflows: readonly SavedReport[];
}

interface Progresses {
  call: Record<string, unknown>;
  decide: RunProgress;
  embed: EmbedProgress;
  index: IndexProgress;
  observe: RunProgress;
  run: RunProgress;
  watch: WatchProgress;
}

/** The result of a control method. */
export type Result<M extends MethodName> = Results[M];

/** The progress that a control method reports; most report none. */
export type Progress<M extends MethodName> = M extends keyof Progresses ? Progresses[M] : never;
