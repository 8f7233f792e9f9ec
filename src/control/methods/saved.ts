import { kindOf, type Task } from "../../dag/mod.ts";
import { AgentCardsError, describe, nearest, oneLine, splitToolId } from "../../model/mod.ts";
import { parseWorkflowFile, type SavedWorkflow, textOfRun } from "../../workflow/mod.ts";
import type { ChainOffer } from "../../suggest/mod.ts";
import type { Method } from "../context.ts";
import type { ChainReport, SavedReport } from "../reports.ts";

export const workflows: Method<"workflows"> = async ({ gateway, session }) => {
  const { workflows, broken } = await gateway.saved.all(await session);
  return [
    ...workflows.map(reportOf),
    ...broken.map(({ name, path, problem }) => ({ name, path, problem, tasks: 0, description: "" })),
  ];
};

export const workflowShow: Method<"workflow_show"> = async ({ gateway, session }, { name }) => {
  const found = await gateway.saved.find(await session, bare(name));
  return { ...reportOf(found), text: found.text };
};

export const workflowSave: Method<"workflow_save"> = async ({ gateway, session }, params) => {
  const { run, name, description = "", chosen = [], replace = false } = params;
  const { journal } = (await session).workflows;
  const row = await journal.find(run);
  if (!row) throw new AgentCardsError("RUN_UNKNOWN", `There is no run "${oneLine(run, 80)}"`);
  const { state: { status, plan, options } } = await journal.open(row.id);
  if (status !== "completed") {
    throw new AgentCardsError("RUN_STATE", `${row.id} is ${status}; only a workflow that succeeded is saved`);
  }
  const about = oneLine(description || row.name || describedBy(plan), 300);
  return reportOf(
    await gateway.saved.save(name, textOfRun({ description: about, tasks: plan, options, chosen }), replace),
  );
};

export const workflowImport: Method<"workflow_import"> = async ({ gateway }, { name, text, replace = false }) =>
  reportOf(await gateway.saved.save(name, text, replace));

export const workflowRemove: Method<"workflow_remove"> = async ({ gateway, session }, { name }) => {
  const place = await session;
  try {
    const { path } = await gateway.saved.remove(place, bare(name));
    return { removed: bare(name), path };
  } catch (error) {
    if (!(error instanceof AgentCardsError) || error.code !== "TOOL_UNKNOWN") throw error;
    const names = (await gateway.saved.all(place)).workflows.map((one) => one.name);
    const near = nearest(name, names);
    const there = names.length > 0 ? `Saved are ${oneLine(names.join(", "), 300)}.` : "None is saved.";
    throw new AgentCardsError("TOOL_UNKNOWN", error.message, {
      hint: near.length ? `Nearest: ${near.join(", ")}.` : there,
    });
  }
};

export const workflowSuggest: Method<"workflow_suggest"> = async ({ gateway, session }, { save }) => {
  const place = await session;
  const offers = (await gateway.chains.offers(place)).map(chainReport);
  if (!save) return { offers, saved: null };
  const found = offers.find(({ id }) => id === save.id);
  if (!found) {
    throw new AgentCardsError("INPUT_INVALID", `There is no suggestion "${oneLine(save.id, 40)}"`, {
      hint: offers.length > 0 ? `There are ${offers.map(({ id }) => id).join(", ")}.` : "There is none now.",
    });
  }
  const saved = reportOf(await gateway.saved.save(save.name, found.text, false));
  await gateway.chains.saved(place, found.id);
  return { offers: [], saved };
};

/** A chain as the file of a workflow: values that were another each time are its parameters. */
function chainReport({ id, times, tasks, said }: ChainOffer): ChainReport {
  const plan: Task[] = tasks.map((task) => ({ ...task, type: "tool", depends_on: [] }));
  const nameOf = (place: string) => place.slice(place.indexOf(".") + 1);
  const chosen = said.map((place) =>
    said.filter((one) => nameOf(one) === nameOf(place)).length > 1 ? `${place.replace(/\W/g, "_")}=${place}` : place
  );
  const text = textOfRun({ description: describedBy(plan), tasks: plan, options: {}, chosen });
  return { id, times, tools: tasks.map(({ tool }) => tool), text };
}

/** People say `workflow:NAME` and `NAME`. */
export function bare(name: string): string {
  const { server, name: rest } = splitToolId(name);
  return server === "workflow" ? rest : name;
}

function reportOf({ name, path, description = "", version, parameters, tasks }: SavedWorkflow): SavedReport {
  return {
    name,
    path,
    description,
    tasks: tasks.length,
    ...version !== undefined && { version },
    ...parameters && { parameters },
  };
}

function describedBy(plan: readonly Task[]): string {
  return plan.map((task) => splitToolId(kindOf(task).describe(task)).name.replace(/[_-]/g, " ")).join(", then ");
}

export const workflowCheck: Method<"workflow_check"> = async (_, { text }) => {
  try {
    const { tasks, parameters } = await parseWorkflowFile(text, "the text");
    return { problem: null, tasks: tasks.length, ...parameters && { parameters } };
  } catch (error) {
    return { problem: describe(error), tasks: 0 };
  }
};
