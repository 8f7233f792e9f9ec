// Random workflows in which some tasks fail, run at the command line and repaired by an agent: status, exit code, lists
// and results are held against a model that knows nothing of the product's code.
import { stringify } from "yaml";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, type TestHome, testServer } from "../fixtures/gateway.ts";
import { linesOf, read, resume } from "../fixtures/workflow.ts";
import { type Random, seeded } from "../model/random.ts";
import type { Evaluation } from "./main.ts";

type Status = "success" | "error" | "failed_safe" | "skipped";

interface Drawn {
  readonly id: string;
  /** `read` and `code` fail while their file is missing; `act` writes a line down, `null` returns null: both succeed. */
  readonly kind: "read" | "code" | "act" | "null";
  readonly needs: readonly string[];
}

const isCode = (kind: Drawn["kind"]) => kind === "code" || kind === "null";
const canFail = ({ kind }: Drawn) => kind === "read" || kind === "code";

/** The status of each task: what had succeeded stays; the others by what they need and by what is broken. */
function model(tasks: readonly Drawn[], broken: ReadonlySet<string>, before: Map<string, Status>): Map<string, Status> {
  const after = new Map<string, Status>();
  for (const { id, kind, needs } of tasks) {
    const isServed = needs.every((need) => after.get(need) === "success");
    const fails = broken.has(id);
    if (before.get(id) === "success") after.set(id, "success");
    else if (isCode(kind)) after.set(id, fails ? "failed_safe" : "success");
    else after.set(id, !isServed ? "skipped" : fails ? "error" : "success");
  }
  return after;
}

function endsOf(tasks: readonly Drawn[]): string[] {
  return tasks.map(({ id }) => id).filter((id) => !tasks.some(({ needs }) => needs.includes(id)));
}

function statusOf(ends: readonly string[], statuses: ReadonlyMap<string, Status>): string {
  const good = ends.filter((id) => statuses.get(id) === "success").length;
  return good === ends.length ? "completed" : good > 0 ? "partial" : "failed";
}

function draw(random: Random): { tasks: Drawn[]; broken: Set<string> } {
  const count = 3 + random.below(10);
  const tasks = Array.from({ length: count }, (_, i): Drawn => ({
    id: `t${i}`,
    kind: (["read", "code", "act", "null"] as const)[random.below(4)]!,
    needs: [...new Set(Array.from({ length: random.below(3) }, () => `t${random.below(Math.max(1, i))}`))]
      .filter((id) => id !== `t${i}`),
  }));
  const fragile = tasks.filter(canFail);
  return { tasks, broken: new Set(fragile.filter(() => random.below(3) === 0).map(({ id }) => id)) };
}

function definitionOf({ id, kind, needs }: Drawn, dir: string): Record<string, unknown> {
  const file = `${dir}/${id}`;
  const common = { id, depends_on: needs };
  if (kind === "act") return { ...common, tool: "kit:append", arguments: { file: `${dir}/oracle`, line: id } };
  if (kind === "read") return { ...common, tool: "kit:read_file", arguments: { file }, retries: 0 };
  if (kind === "null") return { ...common, type: "code_execution", code: "return null" };
  return { ...common, type: "code_execution", code: `return await kit.read_file({ file: ${JSON.stringify(file)} })` };
}

interface Shown {
  status: string;
  succeeded: number;
  tasks: number;
  reports?: { id: string; status: string }[];
}

export const evaluation: Evaluation = {
  options: { runs: { type: "string", default: "100" }, seed: { type: "string", default: "1" } },
  async run({ runs, seed }) {
    const random = seeded(Number(seed));
    await using home = await createTestHome({
      servers: { kit: testServer("kit", "--files") },
      policy: { effects: { "kit:read_file": "read" } },
    });
    const violations: string[] = [];
    const counts: Record<string, number> = {};
    let repaired = 0;
    for (let i = 0; i < Number(runs); i++) {
      const { tasks, broken } = draw(random);
      const dir = `${home.dir}/run${i}`;
      await Deno.mkdir(dir);
      const told = await trial(home, { dir, tasks, broken, random });
      counts[told.first] = (counts[told.first] ?? 0) + 1;
      if (told.wasRepaired) repaired++;
      violations.push(...told.violations.map((violation) => `run ${i}: ${violation}`));
    }
    return { runs: Number(runs), ...counts, repaired, violations: violations.length, first: violations.slice(0, 5) };
  },
};

interface Trial {
  readonly dir: string;
  readonly tasks: readonly Drawn[];
  readonly broken: Set<string>;
  readonly random: Random;
}

async function trial(home: TestHome, { dir, tasks, broken, random }: Trial) {
  const violations: string[] = [];
  const ends = endsOf(tasks);
  const expect = (what: string, actual: unknown, expected: unknown) => {
    const [is, must] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (is !== must) violations.push(`${what} is ${is}, must be ${must}`);
  };
  const sorted = (record: Record<string, unknown>) => Object.entries(record).sort(([a], [b]) => a < b ? -1 : 1);
  const mend = (id: string) => Deno.writeTextFile(`${dir}/${id}`, `content of ${id}`);
  for (const task of tasks) if (canFail(task) && !broken.has(task.id)) await mend(task.id);
  const file = `${dir}/flow.yaml`;
  await Deno.writeTextFile(file, stringify({ tasks: tasks.map((task) => definitionOf(task, dir)) }));

  let statuses = model(tasks, broken, new Map());
  const first = statusOf(ends, statuses);
  const { code, stdout } = await home.run(["run", file, "--json"], { cwd: dir });
  const answer = JSON.parse(stdout);
  const check = async (told: { status: string; results: object; tasks: { id: string; status: string }[] }) => {
    expect("status", told.status, statusOf(ends, statuses));
    expect("results", Object.keys(told.results).sort(), ends.filter((id) => statuses.get(id) === "success").sort());
    const tellings = Object.fromEntries(told.tasks.map(({ id, status }) => [id, status]));
    expect("tasks", sorted(tellings), sorted(Object.fromEntries(statuses)));
    const succeeded = [...statuses.values()].filter((status) => status === "success").length;
    const listed = (JSON.parse((await home.run(["runs", "--limit", "1", "--json"])).stdout) as Shown[])[0]!;
    const shown = JSON.parse((await home.run(["runs", "show", answer.workflow_id, "--json"])).stdout) as Shown;
    for (const [name, { status, succeeded: count, tasks: all }] of [["runs", listed], ["runs show", shown]] as const) {
      expect(name, [status, count, all], [told.status, succeeded, tasks.length]);
    }
    const done = tasks.filter(({ id, kind }) => kind === "act" && statuses.get(id) === "success").map(({ id }) => id);
    const effects = (await linesOf(`${dir}/oracle`)).filter((line) => line.startsWith("end ")).map((l) => l.slice(4));
    expect("effects", effects.sort(), done.sort());
  };
  expect("exit code", code, first === "completed" ? 0 : 1);
  await check(answer);
  if (first === "completed") return { first, violations, wasRepaired: false };

  await using client = await connectClient(home, { cwd: dir });
  // Some of it is mended and tried again, then the rest is replaced or mended.
  for (const id of [...broken]) if (random.below(2) === 0) broken.delete(id), await mend(id);
  statuses = model(tasks, broken, statuses);
  await check(await resume(client, answer.workflow_id, "retry"));
  const left = tasks.filter(({ id }) => broken.has(id) && statuses.get(id) === "error");
  if (left.length > 0 && statusOf(ends, statuses) !== "completed") {
    for (const { id } of left) broken.delete(id);
    const replaced = left.map(({ id, needs }) => ({
      id,
      depends_on: needs,
      tool: "kit:echo",
      arguments: { text: id },
    }));
    statuses = repairedBy(tasks, { statuses, broken, replaced: new Set(left.map(({ id }) => id)) });
    await check(await resume(client, answer.workflow_id, "replace", { tasks: replaced }));
  }
  for (const id of [...broken]) broken.delete(id), await mend(id);
  if (statusOf(ends, statuses) !== "completed") {
    statuses = model(tasks, broken, statuses);
    const mended = read(await client.call("resume_workflow", { workflow_id: answer.workflow_id, action: "retry" }));
    expect("repaired", mended.status, "completed");
    await check(mended);
  }
  return { first, violations, wasRepaired: true };
}

interface Repaired {
  readonly statuses: ReadonlyMap<string, Status>;
  readonly broken: ReadonlySet<string>;
  readonly replaced: ReadonlySet<string>;
}

/** After tasks were replaced only they and what failed or was skipped behind them are run. */
function repairedBy(tasks: readonly Drawn[], { statuses, broken, replaced }: Repaired): Map<string, Status> {
  const isRun = new Set(replaced);
  const after = new Map<string, Status>();
  for (const { id, kind, needs } of tasks) {
    if (statuses.get(id) !== "success" && needs.some((need) => isRun.has(need))) isRun.add(id);
    const isServed = needs.every((need) => after.get(need) === "success");
    if (!isRun.has(id)) after.set(id, statuses.get(id)!);
    else if (isCode(kind)) after.set(id, broken.has(id) ? "failed_safe" : "success");
    else after.set(id, !isServed ? "skipped" : broken.has(id) ? "error" : "success");
  }
  return after;
}
