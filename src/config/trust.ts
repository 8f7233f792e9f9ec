import { dirname, join } from "node:path";
import { AgentCardsError } from "../model/errors.ts";
import { isObject, sha256 } from "../model/json.ts";
import type { Home } from "./home.ts";

/** A project's configuration file and whether the user has seen and pinned exactly this text. */
export interface ProjectFile {
  readonly path: string;
  readonly hash: string;
  readonly trusted: boolean;
}

/** Looks for `.agentcards/config.yaml` from a folder upwards. The home's own file is no project's. */
export async function findProject(cwd: string, home: Home): Promise<ProjectFile | undefined> {
  for (let dir = cwd;; dir = dirname(dir)) {
    const path = join(dir, ".agentcards", "config.yaml");
    if (path !== home.config) {
      const text = await Deno.readTextFile(path).catch(() => undefined);
      if (text !== undefined) {
        const hash = await sha256(text);
        return Object.freeze({ path, hash, trusted: (await readPins(home))[path] === hash });
      }
    }
    if (dirname(dir) === dir) return undefined;
  }
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
