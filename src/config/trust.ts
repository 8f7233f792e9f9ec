import { dirname, join } from "node:path";
import { AgentCardsError } from "../model/errors.ts";
import { isObject, sha256 } from "../model/json.ts";
import type { Home } from "./home.ts";
import { MAX_BYTES } from "./read.ts";

/** A project's configuration file and whether the user has seen and pinned exactly this text. */
export interface ProjectFile {
  readonly path: string;
  readonly text: string;
  readonly hash: string;
  readonly trusted: boolean;
}

/** Looks for `.agentcards/config.yaml` from a folder upwards. The home's own file is no project's. */
export async function findProject(cwd: string, home: Home): Promise<ProjectFile | undefined> {
  for (let dir = cwd;; dir = dirname(dir)) {
    const path = join(dir, ".agentcards", "config.yaml");
    const text = await readFile(path);
    if (text !== undefined && !await isSame(path, home.config)) {
      const hash = await sha256(text);
      return Object.freeze({ path, text, hash, trusted: (await readPins(home))[path] === hash });
    }
    if (dirname(dir) === dir) return undefined;
  }
}

/** A foreign repository must not make us read a device or a giant: what is no plain file of a sane size is no project's. */
async function readFile(path: string): Promise<string | undefined> {
  const info = await Deno.stat(path).catch(() => undefined);
  if (!info?.isFile || info.size > MAX_BYTES) return undefined;
  return await Deno.readTextFile(path).catch(() => undefined);
}

/** Whether two paths lead to one file, through whatever links. */
async function isSame(one: string, other: string): Promise<boolean> {
  const real = (path: string) => Deno.realPath(path).catch(() => path);
  return await real(one) === await real(other);
}

/** Pins the text that was shown; fails when the file has changed since. */
export async function trustProject(project: ProjectFile, home: Home): Promise<void> {
  if (await sha256(await Deno.readTextFile(project.path)) !== project.hash) {
    throw new AgentCardsError("CONFIG_UNTRUSTED", `Cannot trust ${project.path}: it changed while you were reading`, {
      hint: "Run `agentcards trust` again.",
    });
  }
  const pins = { ...await readPins(home), [project.path]: project.hash };
  const draft = `${home.trust}.${crypto.randomUUID()}.tmp`;
  await Deno.writeTextFile(draft, JSON.stringify(pins, null, 2) + "\n", { mode: 0o600 });
  await Deno.rename(draft, home.trust);
}

async function readPins(home: Home): Promise<Record<string, unknown>> {
  try {
    const pins: unknown = JSON.parse(await Deno.readTextFile(home.trust));
    return isObject(pins) ? pins : {};
  } catch {
    // A missing or damaged file trusts nothing.
    return {};
  }
}
