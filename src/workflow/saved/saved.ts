import type { Session } from "../../call/mod.ts";
import { type Home, replaceFile } from "../../config/mod.ts";
import { kindOf, type Task } from "../../dag/mod.ts";
import {
  AgentCardsError,
  canonicalJson,
  type JsonObject,
  nearest,
  oneLine,
  sha256,
  type Tool,
  toolId,
  within,
  WORKFLOW_SERVER,
} from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseWorkflowFile } from "./file.ts";
import { projectFolder } from "./places.ts";
import { NO_PARAMETERS, type PreparedRun, preparedRun } from "./prepare.ts";
import { type BrokenWorkflow, createFolderReader, type FolderContent, type SavedWorkflow } from "./folder.ts";

/** The folders of a session: the home, and its project where that is trusted. */
export type Place = Pick<Session, "loaded">;

/** Saved workflows are files: found by search like a tool, called as `workflow:NAME`. */
export interface SavedWorkflows {
  /** The folder of the user's own workflows. */
  readonly home: string;
  all(place: Place): Promise<FolderContent>;
  find(place: Place, name: string): Promise<SavedWorkflow>;
  /** As tools; none where they cannot be read. */
  tools(place: Place): Promise<readonly Tool[]>;
  /** The tasks and options of a run with this input; an error where the input does not fit the parameters. */
  prepare(place: Place, name: string, input: JsonObject): Promise<PreparedRun>;
  /** Writes a file of the home, once its text is a workflow. */
  save(name: string, text: string, isReplacing?: boolean): Promise<SavedWorkflow>;
  remove(place: Place, name: string): Promise<SavedWorkflow>;
  /** The workflow of a file, wherever it lies; undefined where it cannot be used. */
  read(path: string): Promise<SavedWorkflow | undefined>;
}

/** The folder of the workflows that ship. */
const SHIPPED = dirname(fileURLToPath(new URL("../shipped/incident.yaml", import.meta.url)));
const NAME = /^[A-Za-z0-9][\w-]{0,63}$/;
/** A search waits so long for files that are being brought over from a database. */
const PATIENCE_MS = 1_000;

export interface SavedOptions {
  readonly home: Home;
  /** Brings over what earlier versions kept in the database; done once. */
  migrate(): Promise<void>;
  /** Told of the tools that changed. */
  onChange(tools: readonly Tool[]): void;
}

export function createSavedWorkflows({ home, migrate, onChange }: SavedOptions): SavedWorkflows {
  const own = createFolderReader(home.workflows);
  const shipped = createFolderReader(SHIPPED);
  const readers = new Map<string, ReturnType<typeof createFolderReader>>();
  const tools = new WeakMap<SavedWorkflow, Promise<Tool>>();
  let migrating: Promise<void> | undefined;
  let told = "";

  /** The move out of the database; after a failure the next caller tries again. */
  const migrated = () =>
    migrating ??= migrate().catch((error) => {
      migrating = undefined;
      throw error;
    });

  const readerOf = (folder: string) => readers.getOrInsertComputed(folder, () => createFolderReader(folder));

  /** The workflows that ship, where the user has agents that they are about. */
  async function shippedFor({ loaded: { config } }: Place): Promise<FolderContent> {
    const isUseful = Object.values(config.agents).some(({ isConfigured, disabled }) => isConfigured && !disabled);
    return isUseful ? await shipped.read() : { workflows: [], broken: [] };
  }

  async function read(place: Place): Promise<FolderContent> {
    const folder = projectFolder(place, "workflows");
    const [mine, project, ours] = await Promise.all([
      own.read(),
      folder === undefined ? { workflows: [], broken: [] } : readerOf(folder).read(),
      shippedFor(place),
    ]);
    // A project, whose files change with a pull, takes no name of the user's own.
    const taken = new Set([...mine.workflows, ...mine.broken].map(({ name }) => name));
    const free = ({ name }: { name: string }) => !taken.has(name);
    const theirs = { workflows: project.workflows.filter(free), broken: project.broken.filter(free) };
    for (const { name } of [...theirs.workflows, ...theirs.broken]) taken.add(name);
    return {
      workflows: [...mine.workflows, ...theirs.workflows, ...ours.workflows.filter(free)],
      broken: [...mine.broken, ...theirs.broken],
    };
  }

  async function all(place: Place): Promise<FolderContent> {
    await migrated();
    return await read(place);
  }

  const toolOf = (workflow: SavedWorkflow) => tools.getOrInsertComputed(workflow, () => asTool(workflow));

  async function find(place: Place, name: string): Promise<SavedWorkflow> {
    const { workflows, broken } = await all(place);
    const found = workflows.find((one) => one.name === name);
    if (found) return found;
    const unusable = broken.find((one) => one.name === name);
    if (unusable) throw new AgentCardsError("PLAN_INVALID", unusable.problem);
    const ours = (await shipped.read()).workflows.find((one) => one.name === name);
    if (ours) return ours;
    const near = nearest(name, workflows.map((one) => one.name));
    throw new AgentCardsError("TOOL_UNKNOWN", `There is no saved workflow "${oneLine(name, 80)}"`, {
      hint: near.length ? `Nearest: ${near.join(", ")}.` : "`agentcards workflow list` tells which there are.",
    });
  }

  async function toolsOf(place: Place): Promise<readonly Tool[]> {
    const { workflows } = await all(place);
    const made = await Promise.all(workflows.map(toolOf));
    const seen = made.map(({ hash }) => hash).join();
    if (made.length > 0 && seen !== told) onChange(made);
    told = seen;
    return made;
  }

  return {
    home: home.workflows,
    all,
    find,
    async read(path) {
      const reader = dirname(path) === home.workflows ? own : readerOf(dirname(path));
      return (await reader.read()).workflows.find((one) => one.path === path);
    },
    tools: (place) => within(toolsOf(place), PATIENCE_MS, "the database is still being opened").catch(() => []),
    async prepare(place, name, given) {
      return await preparedRun(await find(place, name), given, `${WORKFLOW_SERVER}:${name}`);
    },
    async save(name, text, isReplacing = false) {
      if (!NAME.test(name)) {
        throw new AgentCardsError("INPUT_INVALID", `"${oneLine(name, 80)}" is no name for a workflow`, {
          hint: "Letters, digits, _ and -, at most 64.",
        });
      }
      await migrated();
      const file = await parseWorkflowFile(text, `${name}.yaml`);
      const before = await own.read();
      const there = [...before.workflows, ...before.broken].find((one) => one.name === name);
      if (there && !isReplacing) {
        throw new AgentCardsError("INPUT_INVALID", `There is a workflow "${name}" already: ${there.path}`, {
          hint: "Remove it first, choose another name, or say --replace.",
        });
      }
      const path = there?.path ?? `${home.workflows}/${name}.yaml`;
      await fs.mkdir(home.workflows, { recursive: true, mode: 0o700 });
      await replaceFile(path, new TextEncoder().encode(text), 0o600);
      return { ...file, name, path, text, hash: await sha256(text) };
    },
    async remove(place, name) {
      const found = await find(place, name).catch(async (error) => {
        const broken = (await all(place)).broken.find((one) => one.name === name);
        if (!broken) throw error;
        return { ...broken, tasks: [], options: {}, hash: "", text: "" } as SavedWorkflow & BrokenWorkflow;
      });
      if (dirname(found.path) === SHIPPED) {
        throw new AgentCardsError("INPUT_INVALID", `workflow:${name} ships with AgentCards`, {
          hint: "A workflow of yours with the same name takes its place.",
        });
      }
      if (dirname(found.path) !== home.workflows) {
        throw new AgentCardsError("INPUT_INVALID", `workflow:${name} is a file of the project: ${found.path}`, {
          hint: "Delete the file itself.",
        });
      }
      await fs.remove(found.path);
      return found;
    },
  };
}

async function asTool({ name, description = "", tasks, parameters = NO_PARAMETERS }: SavedWorkflow): Promise<Tool> {
  const steps = tasks.map((task) => stepOf(task as Task)).join(" → ");
  const text = `${description}${description && " "}(saved workflow: ${oneLine(steps, 500)})`;
  return {
    id: toolId(WORKFLOW_SERVER, name),
    server: WORKFLOW_SERVER,
    name,
    description: text,
    inputSchema: parameters,
    hash: await sha256(canonicalJson([name, text, parameters])),
  };
}

function stepOf(task: Task): string {
  const type = "code" in task ? "code_execution" : "agent" in task ? "agent" : "tool";
  const whole = { ...task, type } as Task;
  return kindOf(whole).describe(whole);
}
