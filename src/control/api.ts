import { z } from "../../deps.ts";
import type { Found } from "../call/mod.ts";
import type { Effect, Tool, ToolResult } from "../model/mod.ts";
import type { Verdict } from "../policy/mod.ts";
import type { RunBody, RunDetails, RunReport, TriggerReport, TriggerText } from "../workflow/mod.ts";
import type {
  ApprovalReport,
  EmbedProgress,
  EmbedReport,
  EngineReport,
  GraphReport,
  IndexProgress,
  IndexReport,
  ReviewReport,
  RunProgress,
  SavedReport,
} from "./reports.ts";

const NONE = z.strictObject({});
const text = z.string().min(1);
const optional = z.string().optional();

/** The parameters of every control method, checked when they arrive. */
export const PARAMS = {
  accept_database: NONE,
  accept_sandbox: NONE,
  approvals: NONE,
  /** Records that the audit is read out, and says where it is. */
  audit_export: z.strictObject({ format: z.enum(["jsonl", "ocsf"]) }),
  backup: z.strictObject({ path: text }),
  call: z.strictObject({ tool: text, arguments: z.record(z.string(), z.unknown()).optional() }),
  /** The rest is checked as that of `resume_workflow` is. */
  decide: z.looseObject({ workflow_id: text, action: text, hash: optional }),
  decide_call: z.strictObject({ id: text, hash: text, action: z.enum(["approve", "reject"]), note: optional }),
  embed: NONE,
  graph: z.strictObject({ tool: optional, to: optional, dot: z.boolean().optional() }),
  index: z.strictObject({ servers: z.array(z.string()).optional() }),
  observe: z.strictObject({ id: text }),
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
  run_show: z.strictObject({ id: text }),
  runs: z.strictObject({ limit: z.number().int().min(1).optional() }),
  search: z.strictObject({ query: text, limit: z.number().int().min(1).optional(), server: optional }),
  signed_in: z.strictObject({ server: text }),
  status: NONE,
  stop: NONE,
  tools: z.strictObject({ server: optional }),
  trigger_off: z.strictObject({ name: text }),
  /** Switches on the text with this hash, which a person was shown. */
  trigger_on: z.strictObject({ name: text, hash: text }),
  trigger_show: z.strictObject({ name: text }),
  trigger_try: z.strictObject({ name: text }),
  triggers: NONE,
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
  workflows: NONE,
} as const;

/** The name of a control method. */
export type MethodName = keyof typeof PARAMS;

/** The parameters of a control method. */
export type Params<M extends MethodName> = z.output<(typeof PARAMS)[M]>;

/** A tool with the verdict of policy on it. */
export type JudgedTool = Tool & {
  readonly policy: Verdict["kind"];
  readonly effect: Effect;
  /** The clients that see it; null for all. */
  readonly clients: readonly string[] | null;
};

interface Results {
  accept_database: { readonly problem: string | null };
  accept_sandbox: { readonly level: number };
  approvals: readonly ApprovalReport[];
  audit_export: Record<never, never>;
  backup: { readonly bytes: number };
  call: { readonly result: ToolResult; readonly value: unknown };
  decide: RunBody;
  decide_call: Record<never, never>;
  embed: EmbedReport;
  graph: GraphReport;
  index: readonly IndexReport[];
  observe: RunDetails;
  restart: { readonly stopped: number };
  review: { readonly problem: string | null; readonly servers: readonly ReviewReport[] };
  review_accept: { readonly accepted: number };
  run: RunBody;
  run_show: RunDetails;
  runs: readonly RunReport[];
  search: Found;
  /** The number of tools of the server, and the runs that go on. */
  signed_in: { readonly tools: number; readonly runs: readonly string[] };
  status: EngineReport;
  stop: { readonly pid: number };
  tools: { readonly tools: readonly JudgedTool[]; readonly notes: readonly string[] };
  trigger_off: { readonly off: readonly string[] };
  trigger_on: TriggerText;
  trigger_show: TriggerText;
  trigger_try: RunBody;
  triggers: readonly TriggerReport[];
  workflow_import: SavedReport;
  workflow_remove: { readonly removed: string; readonly path: string };
  workflow_save: SavedReport;
  workflow_show: SavedReport & { readonly text: string };
  workflows: readonly SavedReport[];
}

interface Progresses {
  call: Record<string, unknown>;
  decide: RunProgress;
  embed: EmbedProgress;
  index: IndexProgress;
  observe: RunProgress;
  run: RunProgress;
}

/** The result of a control method. */
export type Result<M extends MethodName> = Results[M];

/** The progress that a control method reports; most report none. */
export type Progress<M extends MethodName> = M extends keyof Progresses ? Progresses[M] : never;
