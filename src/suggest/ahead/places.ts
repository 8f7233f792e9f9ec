import type { Recalled } from "./conversations.ts";
import type { Made, Places, Sight } from "./sight.ts";
import { isConstant, type PastCall } from "./template.ts";

export function placesOf({ tool, call, course: { calls }, made, recalled }: Sight): Places {
  const last = calls.at(-1)!;
  const again = againOf(call, calls);
  return {
    order: made ? orderPlaces(made, { tool, call, calls }) : [],
    template: made ? [`template ${kindOf(made)}`, `template ${made.key}`] : [],
    tool: toolPlaces(tool, calls),
    recalled: recalled ? recalledPlaces(recalled) : [],
    again: again === ""
      ? []
      : [`again ${again}`, `again ${again} ${tool}`, `again ${again} ${tool} after ${last.tool}`],
  };
}

/** A tool comes after others, and after itself some times in a row. */
function toolPlaces(tool: string, calls: readonly PastCall[]): string[] {
  const last = calls.at(-1)!;
  const run = calls.length - 1 - calls.findLastIndex((one) => one.tool !== last.tool);
  const before = calls.at(-2)?.tool ?? "";
  return [
    `tool ${last.reads} ${last.tool === tool}`,
    `tool ${tool} after ${last.tool}`,
    run > 1 ? `tool ${tool} after ${last.tool} ${Math.min(5, run)}` : `tool ${tool} after ${before} ${last.tool}`,
  ];
}

/** The state of a call that was made before: with an acting call since, or without. */
function againOf(call: string, calls: readonly PastCall[]): string {
  const at = calls.findLastIndex((one) => one.call === call);
  if (at < 0) return "";
  return calls.slice(at + 1).some(({ reads }) => !reads) ? "changed" : "fresh";
}

function kindOf({ template, instance: { count }, fits }: Made): string {
  return `${isConstant(template) ? "constant" : count > 1 ? "list" : "single"} ${fits}`;
}

function orderPlaces(
  made: Made,
  { tool, call, calls }: { tool: string; call: string; calls: readonly PastCall[] },
): string[] {
  const { key, template, instance: { index, count }, step } = made;
  const since = calls.slice(calls.findLastIndex((one) => one.tool === template.anchor) + 1);
  const order = step === undefined ? `first ${Math.min(3, index)}` : `then ${Math.max(-1, Math.min(3, step))}`;
  const kind = `order ${kindOf(made)} ${order} ${againOf(call, calls)}`;
  const isRun = calls.at(-1)!.tool === tool;
  const state = `${isRun} ${since.some(({ reads }) => !reads)} ${Math.min(2, since.length)}`;
  return [
    kind,
    `${kind} ${state}`,
    `${kind} ${state} ${Math.min(4, count)}`,
    `order ${key} ${order}`,
    `order ${key} ${order} ${state}`,
  ];
}

function recalledPlaces({ alike, support, isSame, agrees }: Recalled): string[] {
  const share = Math.round(support / alike * 4);
  return [
    `recalled ${isSame}`,
    `recalled ${isSame} ${share}`,
    `recalled ${isSame} ${share} ${Math.min(4, alike)} ${Math.min(3, agrees)}`,
  ];
}
