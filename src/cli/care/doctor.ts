import {
  CLIENT_NAMES,
  entryAt,
  findServers,
  locateHome,
  OWN_NAME,
  parseFile,
  readableByOthers,
  type Source,
} from "../../config/mod.ts";
import type { EngineReport, IndexReport } from "../../control/mod.ts";
import { describe, isObject, messageOf, oneLine } from "../../model/mod.ts";
import { ownProgram } from "../../platform/mod.ts";
import { fs, system, VERSION } from "../../platform/start.ts";
import { delimiter, isAbsolute, join } from "node:path";
import { ask } from "../ask.ts";
import { learnTools, readServers } from "../tools/index_command.ts";
import { jsonLine } from "../json_out.ts";
import { screen, wrap } from "../screen/screen.ts";
import { bytes, duration, painter, plural, type Terminal } from "../screen/terminal.ts";

/** One thing that was looked at. `advice`: works, and could be better. */
interface Check {
  readonly about: string;
  readonly state: "good" | "bad" | "advice";
  readonly found: string;
  /** What to do about it. */
  readonly todo?: string;
}

/** `agentcards doctor`: looks at everything for real; 1 when something does not work. */
export async function doctor({ json }: { json?: boolean }, terminal: Terminal): Promise<number> {
  const checks = [...await installation(), ...await clients()];
  const engine = await ask({ method: "status" }).catch((error) => ({ failure: describe(error) }));
  if ("failure" in engine) {
    checks.push({ about: "engine", state: "bad", found: engine.failure, todo: "`agentcards logs` may say more." });
  } else checks.push(...await behind(engine, terminal));
  const isWell = checks.every(({ state }) => state !== "bad");
  terminal.out(json ? jsonLine({ ok: isWell, checks }) : checksText(checks, terminal));
  return isWell ? 0 : 1;
}

async function installation(): Promise<Check[]> {
  const home = locateHome();
  const missing = await missingFiles(ownProgram());
  const exposed = await readableByOthers([home.dir, home.secrets, home.config]);
  return [
    missing.length === 0
      ? { about: "installation", state: "good", found: `version ${VERSION}, Deno ${system.runtimeVersion}` }
      : {
        about: "installation",
        state: "bad",
        found: `${missing.join(", ")} is missing`,
        todo: "Install AgentCards again.",
      },
    exposed.length === 0 ? { about: "home", state: "good", found: home.dir } : {
      about: "home",
      state: "bad",
      found: `others can read ${exposed.join(", ")}`,
      todo: `chmod go-rwx ${exposed.map((path) => `'${path}'`).join(" ")}`,
    },
  ];
}

/** The clients' entries for AgentCards, and whether what they start is there. */
async function clients(): Promise<Check[]> {
  const machine = { os: system.os, env: system.env(), cwd: system.cwd() };
  const { sources, problems } = await findServers(machine);
  const own = sources.filter(({ hasOwn, scope }) => hasOwn && scope !== "local");
  const checks = await Promise.all(own.map(clientCheck));
  const unread = problems.map(({ client, path, reason }): Check => ({
    about: CLIENT_NAMES[client],
    state: "advice",
    found: `${path} cannot be read: ${reason}`,
    todo: "Mend the file; the client itself may not read it either.",
  }));
  const none: Check = {
    about: "clients",
    state: "advice",
    found: "no client starts AgentCards yet",
    todo: "`agentcards init` sets yours up.",
  };
  return [...checks.length === 0 ? [none] : checks, ...unread];
}

async function clientCheck({ client, path, keys, format }: Source): Promise<Check> {
  const about = CLIENT_NAMES[client];
  try {
    const entry = entryAt(parseFile(await fs.readTextFile(path), format), { keys, name: OWN_NAME });
    const { command, args } = isObject(entry) ? entry : {};
    if (typeof command !== "string") return { about, state: "good", found: `${path} has an entry` };
    const words = [command, ...Array.isArray(args) ? args.map(String) : []];
    const missing = await missingFiles(words);
    if (missing.length === 0) return { about, state: "good", found: `${path} starts ${oneLine(words.join(" "), 100)}` };
    return {
      about,
      state: "bad",
      found: `${path} starts ${missing.join(", ")}, which is not there`,
      todo: "`agentcards init` writes the entry anew.",
    };
  } catch (error) {
    return { about, state: "bad", found: `${path}: ${messageOf(error)}` };
  }
}

/** The program, and every absolute path among its arguments, that do not exist. */
async function missingFiles([command, ...args]: readonly string[]): Promise<string[]> {
  const isThere = (path: string) => fs.stat(path).then(() => true, () => false);
  const places = (system.variable("PATH") ?? "").split(delimiter).map((folder) => join(folder, command!));
  const ends = system.os === "windows" ? ["", ".cmd", ".exe"] : [""];
  const candidates = (isAbsolute(command!) ? [command!] : places).flatMap((path) => ends.map((end) => path + end));
  const found = await Promise.all(candidates.map(isThere));
  const paths = args.filter((arg) => isAbsolute(arg));
  const isMissing = await Promise.all(paths.map(async (path) => !await isThere(path)));
  return [...found.includes(true) ? [] : [command!], ...paths.filter((_, i) => isMissing[i])];
}

/** Everything behind the engine: configuration, each server started for real, sandbox, database, model. */
async function behind(engine: EngineReport, terminal: Terminal): Promise<Check[]> {
  const { config_problem, notes, sandbox, database, minimum_level } = engine;
  const servers = config_problem === null ? await readServers(undefined, terminal.isTerminal) : [];
  const model = await learnTools(terminal.isTerminal).catch((error) => ({ problem: messageOf(error) }));
  return [
    { about: "engine", state: "good", found: `process ${engine.pid}, version ${engine.version}` },
    config_problem === null
      ? {
        about: "configuration",
        state: "good",
        found: `${engine.servers.length} ${plural(engine.servers.length, "server")}`,
      }
      : { about: "configuration", state: "bad", found: config_problem, todo: "`agentcards config edit`" },
    ...notes.map((found): Check => ({ about: "configuration", state: "advice", found })),
    ...servers.map(serverCheck),
    sandbox.problem !== null || sandbox.level < minimum_level
      ? {
        about: "sandbox",
        state: "bad",
        found: sandbox.problem ?? `level ${sandbox.level}, and sandbox.minimum_level is ${minimum_level}`,
        todo: sandbox.problem ? "`agentcards sandbox accept` lets code run at this level." : sandbox.stronger ?? "",
      }
      : {
        about: "sandbox",
        state: sandbox.stronger ? "advice" : "good",
        found: `level ${sandbox.level} (${sandbox.why})`,
        ...sandbox.stronger && { todo: `For a stronger one, ${sandbox.stronger}.` },
      },
    database.problem === null
      ? { about: "database", state: "good", found: database.bytes === null ? database.state : bytes(database.bytes) }
      : { about: "database", state: "bad", found: database.problem },
    "problem" in model ? { about: "model", state: "bad", found: `search goes by words only: ${model.problem}` } : {
      about: "model",
      state: "good",
      found: engine.search?.state === "off"
        ? "none is loaded (profile: minimal); tools are found by words and names"
        : `${model.model}: ${model.indexed} ${plural(model.indexed, "tool")} can be found by meaning`,
    },
  ];
}

function serverCheck({ server, ok, tools, ms, error }: IndexReport): Check {
  const about = `server ${server}`;
  if (ok) return { about, state: "good", found: `${tools} ${plural(tools, "tool")}, ${duration(ms)}` };
  const found = error ?? "it gives no reason";
  const todo = /not set/.test(found)
    ? "Add the value to secrets.env, or to your environment."
    : /no program/.test(found)
    ? `Install it, or \`agentcards disable ${server}\`.`
    : /\b401\b|unauthori[sz]ed/i.test(found)
    ? "Its credential is missing or was refused."
    : `\`agentcards logs ${server}\` shows what it said; \`agentcards disable ${server}\` leaves it out.`;
  return { about, state: "bad", found, todo };
}

const MARKS = { good: ["✓", "green"], bad: ["✗", "red"], advice: ["!", "yellow"] } as const;
const COLUMNS_IN_A_FILE = 120;

function checksText(checks: readonly Check[], { color, isTerminal }: Terminal): string {
  const paint = painter(color);
  const columns = isTerminal ? screen().columns : COLUMNS_IN_A_FILE;
  const lines = checks.flatMap(({ about, state, found, todo }) => {
    const [mark, style] = MARKS[state];
    const [first, ...rest] = wrap(oneLine(`${about}: ${found}`, 1_000), columns - 2);
    return [
      `${paint(style, mark)} ${first}`,
      ...rest.map((line) => `  ${line}`),
      ...todo ? wrap(`→ ${todo}`, columns - 2).map((line) => `  ${line}`) : [],
    ];
  });
  const bad = checks.filter(({ state }) => state === "bad").length;
  const end = bad === 0 ? "Everything works." : bad === 1 ? "One thing does not work." : `${bad} things do not work.`;
  return `${lines.join("\n")}\n\n${end}\n`;
}
