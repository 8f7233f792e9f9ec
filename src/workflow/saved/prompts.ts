import type { Session } from "../../call/mod.ts";
import {
  AgentCardsError,
  isObject,
  type JsonObject,
  messageOf,
  nearest,
  oneLine,
  withoutInvisible,
} from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { log } from "../../telemetry/mod.ts";
import { parse } from "yaml";
import { z } from "../../../deps.ts";
import { projectFolder } from "./places.ts";

/** A prompt of the user: a Markdown file, under the name of the file. */
interface PromptFile {
  readonly name: string;
  readonly description?: string | undefined;
  readonly arguments: readonly { readonly name: string; readonly description?: string; readonly required: boolean }[];
  readonly text: string;
}

/** Two underscores stand between a server and its prompt. */
const FILE = /^((?!.*__)[A-Za-z0-9][\w-]{0,63})\.md$/;
const LARGEST_FILE = 200_000;
const MOST_FILES = 500;
const HEAD = z.strictObject({
  description: z.string().max(1_000).optional(),
  arguments: z.record(
    z.string().regex(/^[A-Za-z_][\w-]{0,63}$/),
    z.strictObject({ description: z.string().max(1_000).optional(), required: z.boolean().optional() }).nullable(),
  ).optional(),
});
const PARAMETER = /\$?\$INPUT\.([A-Za-z_][\w-]*)/g;

type Place = Pick<Session, "shared" | "loaded">;

/** The prompts of `prompts/` in the home and in a trusted project, as a client lists them. */
export async function listPrompts(place: Place): Promise<JsonObject[]> {
  return (await promptFiles(place)).map(({ name, description, arguments: given }) => ({
    name,
    ...description !== undefined && { description },
    ...given.length > 0 && { arguments: given.map((one) => ({ ...one })) },
  }));
}

/** True if a prompt of the user has this name. */
export async function hasPrompt(place: Place, name: unknown): Promise<boolean> {
  return (await promptFiles(place)).some((one) => one.name === name);
}

/** The messages of a prompt, with the values of its arguments in their places. */
export async function getPrompt(place: Place, name: string, given: unknown): Promise<JsonObject> {
  const found = (await promptFiles(place)).find((one) => one.name === name)!;
  const values = isObject(given) ? given : {};
  const missing = found.arguments.filter((one) => one.required && typeof values[one.name] !== "string");
  if (missing.length > 0) {
    throw new AgentCardsError("INPUT_INVALID", `The prompt ${name} needs ${missing.map((one) => one.name).join(", ")}`);
  }
  const known = found.arguments.map((one) => one.name);
  const unknown = Object.keys(values).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    const near = nearest(unknown, known, 1)[0];
    throw new AgentCardsError("INPUT_INVALID", `The prompt ${name} takes no "${oneLine(unknown, 60)}"`, {
      ...near !== undefined && { hint: `Did you mean ${near}?` },
    });
  }
  const text = found.text.replace(
    PARAMETER,
    (whole, key: string) => whole.startsWith("$$") ? whole.slice(1) : String(values[key] ?? ""),
  );
  return {
    ...found.description !== undefined && { description: found.description },
    messages: [{ role: "user", content: { type: "text", text } }],
  };
}

/** A project, whose files change with a pull, takes no name of the user's own. */
async function promptFiles(place: Place): Promise<PromptFile[]> {
  const project = projectFolder(place, "prompts");
  const folders = [place.shared.home.prompts, ...project === undefined ? [] : [project]];
  const found = new Map<string, PromptFile>();
  for (const folder of folders) {
    for (const prompt of await readFolder(folder)) if (!found.has(prompt.name)) found.set(prompt.name, prompt);
  }
  return [...found.values()];
}

async function readFolder(folder: string): Promise<PromptFile[]> {
  const names: string[] = [];
  try {
    for await (const { name } of fs.readDir(folder)) if (FILE.test(name) && names.length < MOST_FILES) names.push(name);
  } catch {
    return [];
  }
  const read = await Promise.all(
    names.sort().map(async (file) => {
      const path = `${folder}/${file}`;
      try {
        const { size, isFile } = await fs.stat(path);
        if (!isFile) return [];
        if (size > LARGEST_FILE) throw new Error(`it is larger than ${LARGEST_FILE / 1_000} kB`);
        return [promptIn(FILE.exec(file)![1]!, await fs.readTextFile(path))];
      } catch (error) {
        log("warning", "prompt_not_usable", { path, reason: messageOf(error) });
        return [];
      }
    }),
  );
  return read.flat();
}

/** Reads a prompt: what stands between two lines of `---` at the beginning describes it. */
function promptIn(name: string, text: string): PromptFile {
  const [head = "", front = ""] = /^---\r?\n([^]*?)\r?\n---\r?\n/.exec(text) ?? [];
  const { description, arguments: told = {} } = HEAD.parse(front === "" ? {} : parse(front) ?? {});
  const body = withoutInvisible(text.slice(head.length).trim());
  const used = [...body.matchAll(PARAMETER)].flatMap(([whole, key]) => whole.startsWith("$$") ? [] : [key!]);
  return {
    name,
    description,
    arguments: [...new Set([...Object.keys(told), ...used])].map((key) => {
      const { description, required = true } = told[key] ?? {};
      return { name: key, ...description !== undefined && { description }, required };
    }),
    text: body,
  };
}
