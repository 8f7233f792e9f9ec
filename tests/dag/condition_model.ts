// Random workflows with conditions, polls, approvals and failures, and a model of how they end. The model is written
// from docs/WORKFLOWS.md and shares no code with the product.
import type { JsonObject } from "../../src/model/json.ts";
import type { Random } from "../model/random.ts";

type End = "success" | "error" | "failed_safe" | "skipped";

/** `status` and `value` compare what a task gave; `and`, `or` and `not` join. */
type Test =
  | { readonly kind: "status"; readonly of: string; readonly is: End }
  | { readonly kind: "value"; readonly of: string; readonly above: number }
  | { readonly kind: "and" | "or"; readonly left: Test; readonly right: Test }
  | { readonly kind: "not"; readonly test: Test };

export interface Drawn {
  readonly id: string;
  readonly kind: "read" | "act" | "code" | "poll";
  readonly needs: readonly string[];
  readonly when?: Test;
  /** The word of the human, where one is asked. */
  readonly word?: "approve" | "reject";
  readonly fails: boolean;
  /** The value that it gives. */
  readonly gives: number;
  /** The call that fulfils a poll; none fulfils one that fails. It may make three. */
  readonly ready: number;
}

const SHARE = 3;

const pick = <T>(random: Random, all: readonly T[]): T => all[random.below(all.length)]!;

export function drawWorkflow(random: Random, most = 12): Drawn[] {
  const drawn: Drawn[] = [];
  const some = (count: number) => drawn.length === 0 ? [] : Array.from({ length: count }, () => pick(random, drawn).id);
  const count = 3 + random.below(most - 2);
  while (drawn.length < count) {
    const kind = pick(random, ["read", "act", "code", "poll"] as const);
    const canAsk = kind !== "poll" && random.below(5) === 0;
    drawn.push({
      id: `t${drawn.length}`,
      kind,
      needs: [...new Set(some(random.below(3)))],
      ...drawn.length > 0 && random.below(2) === 0 && { when: drawTest(random, () => pick(random, drawn).id, 2) },
      ...canAsk && { word: pick(random, ["approve", "approve", "reject"] as const) },
      fails: kind !== "act" && random.below(SHARE) === 0,
      gives: random.below(3),
      ready: 1 + random.below(3),
    });
  }
  return drawn;
}

function drawTest(random: Random, task: () => string, depth: number): Test {
  const kind = random.below(depth > 0 ? 6 : 3);
  if (kind < 2) {
    return { kind: "status", of: task(), is: pick(random, ["success", "success", "error", "skipped"] as const) };
  }
  if (kind === 2) return { kind: "value", of: task(), above: random.below(3) };
  if (kind === 3) return { kind: "not", test: drawTest(random, task, depth - 1) };
  const [left, right] = [drawTest(random, task, depth - 1), drawTest(random, task, depth - 1)];
  return { kind: kind === 4 ? "and" : "or", left, right };
}

/** The condition as a person writes it. */
export function textOf(test: Test): string {
  switch (test.kind) {
    case "status":
      return `deps.${test.of}.status == "${test.is}"`;
    case "value":
      return `deps.${test.of}.output.n > ${test.above}`;
    case "not":
      return `!(${textOf(test.test)})`;
    case "and":
    case "or":
      return `(${textOf(test.left)} ${test.kind === "and" ? "&&" : "||"} ${textOf(test.right)})`;
  }
}

function namesIn(test: Test): string[] {
  if (test.kind === "not") return namesIn(test.test);
  return test.kind === "status" || test.kind === "value" ? [test.of] : [...namesIn(test.left), ...namesIn(test.right)];
}

export interface Expected {
  readonly status: "completed" | "partial" | "failed";
  readonly tasks: ReadonlyMap<string, End>;
  /** The ends that gave a result. */
  readonly results: readonly string[];
  /** The tasks that acted, each once. */
  readonly effects: readonly string[];
}

export function expected(tasks: readonly Drawn[]): Expected {
  const ends = new Map<string, End>();
  const skippedByNeed = new Set<string>();
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const named = (task: Drawn) => new Set(task.when ? namesIn(task.when) : []);
  const holds = (test: Test): boolean => {
    switch (test.kind) {
      case "status":
        return ends.get(test.of) === test.is;
      case "value":
        return ends.get(test.of) === "success" && byId.get(test.of)!.gives > test.above;
      case "not":
        return !holds(test.test);
      case "and":
        return holds(test.left) && holds(test.right);
      case "or":
        return holds(test.left) || holds(test.right);
    }
  };
  for (const task of tasks) {
    const { id, kind, needs, when, word, fails } = task;
    const failed = kind === "code" ? "failed_safe" : "error";
    const isMissing = kind !== "code" && needs.some((need) => !named(task).has(need) && ends.get(need) !== "success");
    if (isMissing) skippedByNeed.add(id);
    ends.set(
      id,
      isMissing || when && !holds(when) ? "skipped" : word === "reject" || fails ? failed : "success",
    );
  }
  const waits = (task: Drawn) => new Set([...task.needs, ...named(task)]);
  const isTakenUp = (id: string) =>
    tasks.some((other) =>
      ends.get(other.id) !== "skipped" && waits(other).has(id) && (other.kind === "code" || named(other).has(id))
    );
  const countsAsFailed = (id: string): boolean => {
    const task = byId.get(id)!;
    if (ends.get(id) !== "skipped") return ends.get(id) !== "success";
    if (skippedByNeed.has(id) && task.needs.some((need) => !named(task).has(need) && countsAsFailed(need))) return true;
    const lookedAt = task.kind === "code" ? waits(task) : named(task);
    return [...lookedAt].some((other) => countsAsFailed(other) && !isTakenUp(other));
  };
  const last = tasks.filter(({ id }) => !tasks.some((other) => waits(other).has(id))).map(({ id }) => id);
  const missed = last.filter(countsAsFailed);
  return {
    status: missed.length === 0 ? "completed" : missed.length < last.length ? "partial" : "failed",
    tasks: ends,
    results: last.filter((id) => ends.get(id) === "success").sort(),
    effects: tasks.filter(({ id, kind }) => kind === "act" && ends.get(id) === "success").map(({ id }) => id).sort(),
  };
}

/** The fields that tasks of every kind get from their drawing. */
export function commonFields({ id, needs, when, word }: Drawn): JsonObject {
  return { id, depends_on: [...needs], ...when && { when: textOf(when) }, ...word && { approve: "human" } };
}
