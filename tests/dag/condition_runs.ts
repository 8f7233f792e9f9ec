// Runs random workflows with conditions, polls, approvals, failures and kills, and holds them against the model.
import assert from "node:assert/strict";
import { loadConditions } from "../../src/dag/condition/conditions.ts";
import type { RunEvent } from "../../src/dag/event.ts";
import { endsOf } from "../../src/dag/outcome.ts";
import type { RunPorts } from "../../src/dag/run_port.ts";
import type { RunState } from "../../src/dag/run_state.ts";
import { createFold, type Fold, record } from "../../src/dag/state.ts";
import { happeningsOf } from "../../src/workflow/decisions.ts";
import { type Random, seeded } from "../model/random.ts";
import { commonFields, type Drawn, drawWorkflow, expected } from "./condition_model.ts";
import { failure, statuses, type StoryOptions, tell, type Tool, value } from "./harness.ts";

await loadConditions([{ when: "true" }]);

const MOST_KILLS = 3;

function definitionOf(task: Drawn): Record<string, unknown> {
  const { id, kind } = task;
  const common = commonFields(task);
  if (kind === "code") return { ...common, type: "code_execution", code: "return 1" };
  if (kind !== "poll") return { ...common, tool: `s:${kind === "act" ? "do" : "get"}_it`, arguments: { id } };
  return {
    ...common,
    tool: "s:get_it",
    arguments: { id },
    until: { when: "output.ok == true", every_ms: 1, times: 3 },
  };
}

/** The world of one workflow: its tools, its human, and what was done to it. */
function worldOf(tasks: readonly Drawn[]) {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const effects: string[] = [];
  const calls = new Map<string, number>();
  const result = ({ kind, fails, gives }: Drawn, more = {}) =>
    fails && kind !== "poll" ? failure("it broke") : value({ n: gives, ...more });
  const call: Tool = async ({ id }) => {
    const task = byId.get(String(id))!;
    const count = (calls.get(task.id) ?? 0) + 1;
    calls.set(task.id, count);
    if (task.kind === "act") effects.push(task.id);
    await Promise.resolve();
    return result(task, { ok: !task.fails && count >= task.ready });
  };
  const asked = (id: string) => ({ why: "it asks", hash: id, definition: "", call: { code: id } });
  const ports: StoryOptions["ports"] = {
    isGuarded: ({ approve }) => approve !== undefined,
    approvalFor: ({ id }) => Promise.resolve(asked(id)),
    approvable: ({ id }) => Promise.resolve(asked(id)),
    askHuman: (_needed, { task }) => Promise.resolve({ word: byId.get(task)!.word! }),
    runCode: (({ id }) => Promise.resolve(result(byId.get(id)!))) as RunPorts["runCode"],
  };
  return { effects, gives: (id: string) => byId.get(id)!.gives, tools: { "s:get_it": call, "s:do_it": call }, ports };
}

function foldOf(rows: readonly RunEvent[]): Fold {
  const fold = createFold();
  for (const row of rows) fold.add(row);
  return fold;
}

/** Carries a workflow to its end, with kills in between: only the rows are left of what was before a kill. */
async function carried(tasks: readonly Drawn[], random: Random) {
  const { effects, gives, ...world } = worldOf(tasks);
  const rows: RunEvent[] = [];
  let kills = 0;
  let state: RunState;
  for (;;) {
    const story = tell(tasks.map(definitionOf), { ...world, ...rows.length > 0 && { from: { fold: foldOf(rows) } } });
    let left = kills < MOST_KILLS && random.below(2) === 0 ? random.below(12) : Infinity;
    try {
      for await (const _event of story.run.events) if (left-- <= 0) story.run.abandon();
    } catch {
      kills++;
    }
    rows.push(...story.written);
    state = foldOf(rows).state;
    if (state.status !== "paused") {
      if (state.status !== "running") break;
      continue;
    }
    assert.equal(state.pending!.reason, "in_doubt", JSON.stringify(state.pending));
    const task = state.pending!.calls[0]!.task;
    const hasHappened = effects.includes(task);
    const outcome = hasHappened
      ? { outcome: "done", value: { n: gives(task) } } as const
      : { outcome: "retry" } as const;
    const request = { workflow_id: "wf_test", action: "resolve", task, ...outcome } as const;
    rows.push(...record(foldOf(rows), happeningsOf(request, "agent", { state })));
  }
  return { state, effects: effects.toSorted(), kills };
}

export interface Figures {
  readonly runs: number;
  readonly kills: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** Acting calls that were made more than once. */
  readonly repeated: number;
  /** The runs that ended otherwise than the model says, each with its workflow. */
  readonly disagreements: readonly string[];
}

/** Draws workflows, carries each to its end, and compares status, tasks, results and effects with the model's. */
export async function compareRuns({ runs, seed }: { readonly runs: number; readonly seed: number }): Promise<Figures> {
  const random = seeded(seed);
  const counts: Record<string, number> = {};
  const disagreements: string[] = [];
  let [killed, repeated] = [0, 0];
  for (let run = 0; run < runs; run++) {
    const tasks = drawWorkflow(random);
    const must = expected(tasks);
    const { state, effects, kills } = await carried(tasks, random);
    const results = endsOf(state).filter(({ status }) => status === "success").map(({ id }) => id).sort();
    try {
      assert.deepEqual(
        { status: state.status, tasks: statuses(state), results, effects },
        { ...must, tasks: Object.fromEntries(must.tasks) },
      );
    } catch (error) {
      disagreements.push(`run ${run}: ${JSON.stringify(tasks.map(definitionOf))}: ${(error as Error).message}`);
    }
    counts[state.status] = (counts[state.status] ?? 0) + 1;
    repeated += effects.length - new Set(effects).size;
    killed += kills;
  }
  return { runs, kills: killed, statuses: counts, repeated, disagreements };
}
