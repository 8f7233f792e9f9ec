import type { JsonObject } from "../../model/mod.ts";
import type { ACTIONS as KNOWN } from "../../workflow/mod.ts";

/** A tool as clients see it. */
export type Definition = JsonObject & { name: string; description: string; inputSchema: JsonObject };

/** The actions on a run; the type keeps the list whole. */
const ACTIONS: Readonly<Record<typeof KNOWN[number], true>> = {
  status: true,
  continue: true,
  abort: true,
  approve: true,
  reject: true,
  inject: true,
  retry: true,
  replace: true,
  remove: true,
  replan: true,
  resolve: true,
};

/** The tools that an agent sees, in this order. They are listed before any of them is loaded. */
export const DEFINITIONS = {
  search_tools: {
    name: "search_tools",
    description:
      'Find tools of the user\'s MCP servers by purpose or name before saying something cannot be done. No query: lists servers; server alone: its tools; query "agentcards:help": guide to workflows, code, handles, pauses.',
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string" },
        limit: { type: "integer" },
        server: { type: "string" },
        detail: { type: "string", enum: ["signature", "types", "schema"] },
      },
    },
    annotations: { readOnlyHint: true },
    _meta: { "anthropic/alwaysLoad": true },
  },
  call_tool: {
    name: "call_tool",
    description:
      "Call one tool found by search_tools. Returns its result unchanged; a long one as a handle for agentcards:read_result.",
    inputSchema: {
      type: "object",
      properties: {
        tool: { type: "string", description: "server:tool" },
        arguments: { type: "object" },
      },
      required: ["tool"],
    },
    _meta: { "anthropic/alwaysLoad": true },
  },
  run_workflow: {
    name: "run_workflow",
    description:
      'Run several tools as one workflow, in parallel; only final results come back. A task: {id, tool, arguments, depends_on?} or {id, type: "code_execution", code: "return deps.a.output", depends_on}. "$OUTPUT[id].path" in arguments inserts an earlier result. If paused or failed: resume_workflow.',
    inputSchema: {
      type: "object",
      properties: {
        tasks: { type: "array", items: { type: "object" } },
        intent: { type: "string", description: "Alone: plans them; else their purpose" },
        options: {
          type: "object",
          description:
            "pause: never|layer|effects, pause_after|return: [ids], timeout_ms, infer, snapshot, check, rollback",
        },
      },
    },
    _meta: { "anthropic/alwaysLoad": true },
  },
  resume_workflow: {
    name: "resume_workflow",
    description:
      "Status of a workflow (without workflow_id: your runs), decide or repair it: retry {tasks?: ids}, replace|inject {tasks}, remove {ids}, resolve {task, outcome: done|retry|skip, value}, replan {requirement}.",
    inputSchema: {
      type: "object",
      properties: {
        workflow_id: { type: "string" },
        action: { type: "string", enum: Object.keys(ACTIONS) },
        tasks: { type: "array" },
        ids: { type: "array" },
        requirement: { type: "string" },
        task: { type: "string" },
        outcome: { type: "string" },
        value: {},
        note: { type: "string" },
      },
      required: ["action"],
    },
  },
  execute_code: {
    name: "execute_code",
    description:
      'Run TypeScript that calls tools in loops and reduces data: `const r = await github.list_issues({…}); return r.length`. Calls return parsed values, throw on failure. Also tools["server:tool"](args). No files or network.',
    inputSchema: {
      type: "object",
      properties: {
        code: { type: "string" },
        intent: { type: "string", description: "Finds tools for it" },
        context: { type: "object" },
        options: { type: "object", description: "timeout_ms, memory_mb, tools, typecheck, cache" },
      },
      required: ["code"],
    },
  },
} satisfies Record<string, Definition>;
