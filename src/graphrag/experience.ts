import { canonicalJson } from "../model/mod.ts";
import { createDependencies, type Dependencies } from "./dependency.ts";
import { createForesight, type Foresight } from "./foresight.ts";
import { createHabits, type Habits, type Trail } from "./habits.ts";
import { flowsOf, recipeOf, type Remembered } from "./recipe.ts";
import type { LearningStore } from "./learning_store.ts";

/** Everything that was learned in one scope, kept as it is learned. */
export interface Experience {
  readonly habits: Habits;
  readonly foresight: Foresight;
  readonly dependencies: Dependencies;
  /** Takes notice of a call and what came of it; values of tools that act are not kept. */
  learn(
    trail: Trail & { readonly steps: readonly Remembered[] },
    step: Remembered,
    how: { ok: boolean; acts: boolean },
  ): void;
  /** Takes notice of what a run told about two of its tools. */
  follow(source: string, target: string, how: { ok: boolean; path?: string }): void;
  /** Notes that something came next in a place of its own kind. */
  note(place: readonly string[], next: string): void;
}

const LONGEST_VALUE = 200;

/** Reads what was learned in a scope. */
export async function openExperience(store: LearningStore, scope: string): Promise<Experience> {
  const [habits, foresight, dependencies] = [createHabits(), createForesight(), createDependencies()];
  const learned = await store.load(scope);
  for (const { place, next, seen } of learned.habits) habits.restore(place, next, seen);
  for (const way of learned.ways) foresight.restore(way);
  for (const edge of learned.dependencies) dependencies.restore(edge);

  const edge = (source: string, target: string, path: string, ok: boolean) =>
    store.dependency(scope, dependencies.note({ source, target, path }, ok));

  return {
    habits,
    foresight,
    dependencies,
    learn(trail, step, { ok, acts }) {
      const last = trail.steps.at(-1);
      if (last && last.tool !== step.tool) edge(last.tool, step.tool, "", ok);
      const recipe = recipeOf(step, trail.steps);
      for (const { from, path, to } of flowsOf(recipe)) edge(from, step.tool, `${path} → ${to}`, ok);
      if (!ok) return;
      for (const [place, next] of habits.learn(trail, step)) store.habit(scope, place, next);
      const { changed, forgotten } = foresight.learn(trail.steps, step, recipe);
      for (const way of changed) store.way(scope, way);
      for (const way of forgotten) store.forget(scope, way);
      if (acts) return;
      for (const [name, value] of Object.entries(step.arguments)) {
        const text = canonicalJson(value);
        if (text.length > LONGEST_VALUE) continue;
        const { place, count } = habits.note(["value", step.tool, name], text);
        if (count > 1) store.habit(scope, place, text);
      }
    },
    follow(source, target, { ok, path = "" }) {
      edge(source, target, path, ok);
      if (!ok || path !== "") return;
      const trail = { request: new Set<string>(), steps: [{ tool: source, call: "" }] };
      for (const [place, next] of habits.learn(trail, { tool: target, call: "" })) store.habit(scope, place, next);
    },
    note: (place, next) => store.habit(scope, habits.note(place, next).place, next),
  };
}
