// deno-lint-ignore-file no-console -- printing is what this file is for
// deno task coverage [DIR]: measures which lines and branches of `src/` the tests run, in every process that they start,
// and fails where a bound is missed. DIR: the profiles of a test run that is over; without it the tests are run first.
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const DENO = Deno.execPath();
/** The part of all lines that the tests run, and that of the branches of the rooms on which safety rests. */
const LINES = 0.8;
const BRANCHES = { policy: 0.9, sandbox: 0.9, dag: 0.9 } as Readonly<Record<string, number>>;
/** Code of browsers, and code that runs in a cage, from which nothing comes out. */
const ELSEWHERE = [/^web\/page\//, /^sandbox\/(?:runner|typecheck_runner|typecheck_globals)\.ts$/];

interface Counts {
  readonly lines: number;
  readonly linesRun: number;
  readonly branches: number;
  readonly branchesRun: number;
}

const given = Deno.args[0];
const profiles = given ?? await Deno.makeTempDir({ prefix: "ac-coverage-" });
try {
  if (given === undefined) await runTests(profiles);
  const files = await countsOf(await distinct(profiles));
  Deno.exitCode = report(files, await missing(files)) ? 0 : 1;
} finally {
  if (given === undefined) await Deno.remove(profiles, { recursive: true });
}

async function runTests(folder: string): Promise<void> {
  const args = ["task", "test", `--coverage=${folder}`, "--coverage-raw-data-only"];
  const { code } = await new Deno.Command(DENO, { args, cwd: ROOT, stdin: "null" }).spawn().status;
  if (code !== 0) throw new Error("The tests failed");
}

interface Profile {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
}

/**
 * The profiles that differ in what they ran. Each process leaves one for each of its files, hundreds of thousands in all,
 * most of which say the same but for how often.
 */
async function distinct(folder: string): Promise<string> {
  const kept = `${folder}/distinct`;
  await Deno.remove(kept, { recursive: true }).catch(() => {});
  await Deno.mkdir(kept);
  const seen = new Set<string>();
  const own = `file://${ROOT}src/`;
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith(".json")) continue;
    const text = await Deno.readTextFile(`${folder}/${name}`);
    if (!text.includes(own)) continue;
    // A process that was killed while it wrote leaves the beginning of a profile.
    const profile = parsed(text);
    if (!profile?.url.startsWith(own)) continue;
    const plain = JSON.stringify(profile, (key, value) => key === "count" ? Math.min(value, 1) : value);
    const hash = createHash("sha256").update(plain.replace(/"scriptId":"\d+",/, "")).digest("hex");
    if (seen.has(hash)) continue;
    seen.add(hash);
    // With its counts: a branch that is taken as often as its function is none to V8.
    await Deno.link(`${folder}/${name}`, `${kept}/${name}`);
  }
  if (seen.size === 0) throw new Error(`${folder} holds no profile of ${own}`);
  return kept;
}

function parsed(text: string): Profile | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The counts of each file of `src/` that a test loaded, by its path there. */
async function countsOf(folder: string): Promise<Map<string, Counts>> {
  const { code, stdout, stderr } = await new Deno.Command(DENO, {
    args: ["coverage", folder, "--lcov", "--quiet", `--include=^file://${ROOT}src/`],
    cwd: ROOT,
  }).output();
  if (code !== 0) throw new Error(new TextDecoder().decode(stderr));
  const files = new Map<string, Counts>();
  for (const record of new TextDecoder().decode(stdout).split("end_of_record")) {
    const path = /^SF:(.*)$/m.exec(record)?.[1]?.split("/src/").at(-1);
    const number = (name: string) => Number(new RegExp(`^${name}:(\\d+)$`, "m").exec(record)?.[1] ?? 0);
    if (path === undefined || ELSEWHERE.some((one) => one.test(path))) continue;
    const [lines, linesRun, branches, branchesRun] = ["LF", "LH", "BRF", "BRH"].map(number) as [
      number,
      number,
      number,
      number,
    ];
    files.set(path, { lines, linesRun, branches, branchesRun });
  }
  return files;
}

/** The files with code that no test loads: a profile does not name them, and every line of theirs was missed. */
async function missing(files: ReadonlyMap<string, Counts>): Promise<Map<string, Counts>> {
  const found = new Map<string, Counts>();
  const walk = async (folder: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(`${ROOT}src/${folder}`)) {
      const path = `${folder}${name}`;
      if (isDirectory) await walk(`${path}/`);
      if (!path.endsWith(".ts") || files.has(path) || ELSEWHERE.some((one) => one.test(path))) continue;
      const text = await Deno.readTextFile(`${ROOT}src/${path}`);
      const lines = text.split("\n").filter((line) => !/^\s*(?:\/\/|\/?\*|$)/.test(line)).length;
      if (isCode(text)) found.set(path, { lines, linesRun: 0, branches: 0, branchesRun: 0 });
    }
  };
  await walk("");
  return found;
}

/** False for a file that declares types only, of which nothing is left when it runs. */
function isCode(text: string): boolean {
  return /^(?:export )?(?:async function|function|class|const|let)\b/m.test(text) || /^await |^import "/m.test(text);
}

function report(files: ReadonlyMap<string, Counts>, unseen: ReadonlyMap<string, Counts>): boolean {
  const all = [...files, ...unseen];
  const rooms = Map.groupBy(all, ([path]) => path.split("/")[0]!);
  const rows: [string, Counts, boolean][] = [];
  for (const [room, members] of [...rooms].sort(([a], [b]) => a.localeCompare(b))) {
    const counts = sum(members.map(([, one]) => one));
    rows.push([room, counts, share(counts.branchesRun, counts.branches) >= (BRANCHES[room] ?? 0)]);
  }
  const total = sum(all.map(([, one]) => one));
  rows.push(["all", total, share(total.linesRun, total.lines) >= LINES]);
  console.log(`${"room".padEnd(12)} ${"lines".padStart(7)} ${"branches".padStart(9)}`);
  for (const [room, { lines, linesRun, branches, branchesRun }, isEnough] of rows) {
    const bound = room === "all"
      ? `  lines at least ${percent(LINES)}`
      : BRANCHES[room] === undefined
      ? ""
      : `  branches at least ${percent(BRANCHES[room])}`;
    const figures = [percent(share(linesRun, lines)).padStart(7), percent(share(branchesRun, branches)).padStart(9)];
    console.log(`${room.padEnd(12)} ${figures.join(" ")}${bound}${isEnough ? "" : ": MISSED"}`);
  }
  if (unseen.size > 0) console.log(`no test loads ${[...unseen.keys()].sort().join(", ")}`);
  const low = new Set(rows.filter(([, , isEnough]) => !isEnough).map(([room]) => room));
  for (const [path, { branches, branchesRun }] of all.sort(([a], [b]) => a.localeCompare(b))) {
    if (!low.has(path.split("/")[0]!) || branchesRun === branches) continue;
    console.log(`  ${path}: ${branches - branchesRun} of ${branches} branches were not taken`);
  }
  return low.size === 0;
}

function sum(all: readonly Counts[]): Counts {
  const of = (key: keyof Counts) => all.reduce((total, one) => total + one[key], 0);
  return { lines: of("lines"), linesRun: of("linesRun"), branches: of("branches"), branchesRun: of("branchesRun") };
}

function share(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole;
}

function percent(part: number): string {
  return `${(part * 100).toFixed(1)} %`;
}
