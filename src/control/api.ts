import { z } from "../../deps.ts";
import type { Found } from "../call/mod.ts";
import type { Effect, Tool, ToolResult } from "../model/mod.ts";
import type { Verdict } from "../policy/mod.ts";
import type { RunBody, RunDetails, RunReport, Template } from "../workflow/mod.ts";
import type {
  ApprovalReport,
  EmbedProgress,
  EmbedReport,
  EngineReport,
  GraphReport,
  IndexProgress,
  IndexReport,
  RunProgress,
} from "./reports.ts";

const NONE = z.strictObject({});
const text = z.string().min(1);
const optional = z.string().optional();

/** The parameters of every control method, checked when they arrive. */
export const PARAMS = {
  accept_database: NONE,
  accept_sandbox: NONE,
  approvals: NONE,
  backup: z.strictObject({ path: text }),
  call: z.strictObject({ tool: text, arguments: z.record(z.string(), z.unknown()).optional() }),
  /** The rest is checked as that of `resume_workflow` is. */
  decide: z.looseObject({ workflow_id: text, action: text, hash: optional }),
  decide_call: z.strictObject({ id: text, hash: text, action: z.enum(["approve", "reject"]) }),
  embed: NONE,
  graph: z.strictObject({ tool: optional, to: optional, dot: z.boolean().optional() }),
  index: z.strictObject({ servers: z.array(z.string()).optional() }),
  observe: z.strictObject({ id: text }),
  /** The rest is checked as that of `run_workflow` is. */
  run: z.looseObject({ name: optional }),
  run_show: z.strictObject({ id: text }),
  runs: z.strictObject({ limit: z.number().int().min(1).optional() }),
  search: z.strictObject({ query: text, limit: z.number().int().min(1).optional(), server: optional }),
  status: NONE,
  stop: NONE,
  template_remove: z.strictObject({ name: text }),
  template_save: z.strictObject({
    run: text,
    name: text,
    description: optional,
    chosen: z.array(z.string()).optional(),
  }),
  templates: NONE,
  tools: z.strictObject({ server: optional }),
} as const;

/** The name of a control method. */
export type MethodName = keyof typeof PARAMS;

/** The parameters of a control method. */
export type Params<M extends MethodName> = z.output<(typeof PARAMS)[M]>;

/** A tool with the verdict of policy on it. */
export type JudgedTool = Tool & { readonly policy: Verdict["kind"]; readonly effect: Effect };

interface Results {
  accept_database: { readonly problem: string | null };
  accept_sandbox: { readonly level: number };
  approvals: readonly ApprovalReport[];
  backup: { readonly bytes: number };
  call: { readonly result: ToolResult; readonly value: unknown };
  decide: RunBody;
  decide_call: Record<never, never>;
  embed: EmbedReport;
  graph: GraphReport;
  index: readonly IndexReport[];
  observe: RunDetails;
  run: RunBody;
  run_show: RunDetails;
  runs: readonly RunReport[];
  search: Found;
  status: EngineReport;
  stop: { readonly pid: number };
  template_remove: { readonly removed: string };
  template_save: Template;
  templates: readonly Template[];
  tools: { readonly tools: readonly JudgedTool[]; readonly notes: readonly string[] };
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

/** What a control method tells while it works; most tell nothing. */
export type Progress<M extends MethodName> = M extends keyof Progresses ? Progresses[M] : never;
