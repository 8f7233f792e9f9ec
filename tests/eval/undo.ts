// Random workflows over a real repository, undone. The judge reads every byte by itself: it knows nothing of snapshots.
import { askEngine } from "../../src/control/start.ts";
import { locateHome } from "../../src/config/start.ts";
import type { UndoReport } from "../../src/snapshot/mod.ts";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, PROGRAM, ROOT, type TestHome, testServer } from "../fixtures/gateway.ts";
import { cloneRepository, type TestRepository } from "../fixtures/repository.ts";
import { type Random, seeded } from "../model/random.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";
import { changingTasks } from "./undo_tasks.ts";

export const evaluation: Evaluation = {
  options: {
    runs: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    /** A repository of which a clone is worked in; this checkout unless told. */
    repository: { type: "string", default: ROOT },
  },
  async run({ runs, seed, repository: from }) {
    await using repository = await cloneRepository(from!);
    await addOthers(repository);
    await using home = await createTestHome({ servers: { files: { ...testServer("files"), cwd: repository.dir } } });
    await using client = await connectClient(home, { cwd: repository.dir });
    const random = seeded(Number(seed));
    const trials: Trial[] = [];
    for (let i = 0; i < Number(runs); i++) trials.push(await tryOnce({ repository, home, client, random }));
    const wrong = trials.filter(({ violation }) => violation !== undefined);
    return {
      n: trials.length,
      violations: wrong.length,
      ...wrong.length > 0 && { first: wrong[0]!.violation },
      files_changed: trials.reduce((sum, { changed }) => sum + changed, 0),
      tasks: trials.reduce((sum, { tasks }) => sum + tasks, 0),
      refused_for_a_person: trials.filter(({ wasRefused }) => wasRefused).length,
      undo_ms: quantiles(trials.map(({ ms }) => ms)),
    };
  },
};

interface Trial {
  readonly tasks: number;
  readonly changed: number;
  readonly ms: number;
  /** True if a person had changed a file of the run's, for which the undo was refused, as it must be. */
  readonly wasRefused: boolean;
  readonly violation?: string;
}

interface Surroundings {
  readonly repository: TestRepository;
  readonly home: TestHome;
  readonly client: RawClient;
  readonly random: Random;
}

/** Files of the kinds that a clone does not have: untracked, ignored, links, binary, large, a repository inside. */
async function addOthers(repository: TestRepository): Promise<void> {
  await repository.write("untracked/notes.txt", "mine\n");
  await repository.write("untracked/large.bin", new Uint8Array(3_000_000).fill(7));
  await repository.write("untracked/crlf.txt", "a\r\nb\r\n");
  await repository.write("inner/file.txt", "of another repository\n");
  await repository.git("-C", `${repository.dir}/inner`, "init", "--quiet");
  await Deno.symlink("notes.txt", `${repository.dir}/untracked/link`);
  await repository.write(".git/info/exclude", "/ignored/\n");
  for (const name of ["one", "two"]) await repository.write(`ignored/${name}.txt`, "ignored\n");
}

async function tryOnce({ repository, home, client, random }: Surroundings): Promise<Trial> {
  const before = await repository.state();
  const files = Object.keys(before).filter((path) => !/^(?:\.git|inner|ignored)\//.test(path));
  const tasks = changingTasks(random, files, Object.keys(before).filter((path) => path.startsWith("ignored/")));
  const answer = await client.call("run_workflow", { tasks });
  const text = textOf(answer);
  if (!text.startsWith("{")) throw new Error(text);
  const { workflow_id: id } = JSON.parse(text) as { workflow_id: string };
  const after = await repository.state();
  const touched = changedPaths(before, after).filter((path) => !path.startsWith("ignored/"));
  const undo = () => undoRun(home, repository, id);
  let refusal: string | undefined;
  const person = random.below(4) === 0 ? touched[random.below(touched.length)] : undefined;
  if (person !== undefined) refusal = await refusedFor(person, repository, undo);
  const began = performance.now();
  const report = await undo();
  const ms = performance.now() - began;
  const end = await repository.state();
  const isRight = report.state === "undone" || touched.length === 0;
  const wrong = changedPaths(expected(before, after), end);
  const problem = refusal ??
    (isRight ? undefined : `${report.state}: ${JSON.stringify(report.conflicts.slice(0, 3))}`) ??
    (wrong.length > 0 ? `other than before: ${wrong.slice(0, 5).join(", ")}; ${report.notes.join(" ")}` : undefined);
  if (problem !== undefined) await putRight(repository, end, before);
  return {
    tasks: tasks.length,
    changed: touched.length,
    ms,
    wasRefused: person !== undefined && refusal === undefined,
    ...problem !== undefined && { violation: `${problem}; tasks ${JSON.stringify(tasks).slice(0, 2_000)}` },
  };
}

/** Everything as it was, ignored files as the run left them. */
function expected(before: Record<string, string>, after: Record<string, string>): Record<string, string> {
  const kept = (path: string) => path.startsWith("ignored/");
  return Object.fromEntries([
    ...Object.entries(before).filter(([path]) => !kept(path)),
    ...Object.entries(after).filter(([path]) => kept(path)),
  ]);
}

function changedPaths(one: Record<string, string>, other: Record<string, string>): string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((path) => one[path] !== other[path]);
}

/** A person changes a file that the run changed: nothing may be undone then, and the file is named. */
async function refusedFor(
  path: string,
  repository: TestRepository,
  undo: () => Promise<UndoReport>,
): Promise<string | undefined> {
  const whole = `${repository.dir}/${path}`;
  const aside = `${repository.dir}.aside`;
  const wasThere = await Deno.rename(whole, aside).then(() => true, () => false);
  await repository.write(path, "by a person");
  const seen = await repository.state();
  const report = await undo();
  const isSame = changedPaths(seen, await repository.state()).length === 0;
  await Deno.remove(whole);
  if (wasThere) await Deno.rename(aside, whole);
  else await removeEmptyAbove(repository.dir, path);
  const isNamed = report.conflicts.some((conflict) => conflict.path === path);
  return report.state === "refused" && isSame && isNamed
    ? undefined
    : `${path} was changed by a person: ${report.state}, ${isSame ? "nothing" : "something"} was changed`;
}

async function removeEmptyAbove(root: string, path: string): Promise<void> {
  for (let folder = path; folder.includes("/");) {
    folder = folder.slice(0, folder.lastIndexOf("/"));
    try {
      await Deno.remove(`${root}/${folder}`);
    } catch {
      return;
    }
  }
}

async function undoRun(home: TestHome, repository: TestRepository, id: string): Promise<UndoReport> {
  const place = { home: locateHome(home.env), cwd: repository.dir, env: home.env, program: PROGRAM };
  return await askEngine(place, { method: "run_undo", params: { id } }).catch((error) => {
    // Nothing acted, so nothing was recorded.
    if (error.code === "RUN_STATE") return { ...NOTHING, root: repository.dir };
    throw error;
  });
}

const NOTHING = { state: "nothing", tasks: [], files: [], conflicts: [], patch: "", notes: [] } as const;

/** After a violation: what is there is what the next trial begins with. */
async function putRight(repository: TestRepository, end: Record<string, string>, before: Record<string, string>) {
  for (const path of Object.keys(end)) if (!(path in before)) await Deno.remove(`${repository.dir}/${path}`);
}
