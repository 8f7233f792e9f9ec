import { deepFreeze } from "../model/mod.ts";
import type { Home } from "./home.ts";
import { joinConfig } from "./join.ts";
import { startFolder } from "./place.ts";
import { parseConfig, readConfigFile } from "./read.ts";
import type { Config, ConfigFile } from "./schema.ts";
import { MAX_UNTRUSTED_PATTERNS, readTightening, type Tightening, unusable } from "./tighten.ts";
import {
  type ProjectFile,
  type ProjectPlace,
  projectPlaces,
  projectRoot,
  type SessionFolder,
  sessionFolder,
} from "./trust.ts";

/** The configuration as it holds in one folder. */
export interface LoadedConfig {
  readonly config: Config;
  readonly project?: ProjectFile;
  /** The session's folder; absent where a session has none. */
  readonly folder?: SessionFolder;
  /** What the user should know: an untrusted project file, for example. */
  readonly notes: readonly string[];
}

/** Whom a configuration is read for: the user, who sees all, or a client, by the name that its `serve` says. */
export type Viewer = "user" | { readonly client?: string | undefined };

export interface LoadOptions {
  /** Whom it is read for; a client without a name unless told. */
  readonly viewer?: Viewer;
  /** The environment of the session, which tells where its client keeps its records. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** False for sessions that come over HTTP: the folder of their process is nobody's. */
  readonly hasFolder?: boolean;
}

/** Global file plus the trusted project's file for `cwd`, tightened by every file from there upwards, frozen. */
export async function loadConfig(home: Home, cwd: string, options: LoadOptions = {}): Promise<LoadedConfig> {
  const { env = {}, hasFolder = true, viewer = {} } = options;
  const global = await readConfigFile(home.config);
  const places = await projectPlaces(cwd, home);
  const folder = hasFolder ? await sessionFolder(cwd, home, env) : undefined;
  const project = places.find(({ file }) => file)?.file;
  const rules = await rulesOf(places);
  const joined = joinConfig({
    global,
    // The very text whose hash was pinned: the file may have changed since.
    ...project?.trusted && { project: { path: project.path, file: parseConfig(project.text, project.path) } },
    trusted: rules.trusted,
    untrusted: rules.untrusted,
    folderOf: (server) => startFolder(server, { folder, root: project && projectRoot(project) }),
  });
  return deepFreeze({
    config: visibleTo(viewer, joined),
    ...project && { project },
    ...folder && { folder },
    notes: [...places.flatMap(noteOf), ...rules.notes],
  });
}

/**
 * The configuration without the servers that are for other clients. What is denied or asked about for one of those still
 * holds for the entries that start the same program.
 */
function visibleTo(viewer: Viewer, config: Config): Config {
  if (viewer === "user") return config;
  const { client } = viewer;
  const seen = Object.entries(config.servers).filter(([, { clients }]) =>
    clients === undefined || client !== undefined && clients.includes(client)
  );
  return { ...config, servers: Object.fromEntries(seen) };
}

interface Rules {
  /** Files of which everything that tightens holds: trusted ones, and the last trusted texts of others. */
  readonly trusted: readonly ConfigFile[];
  readonly untrusted: readonly Tightening[];
  readonly notes: readonly string[];
}

/** What the files of all places forbid and ask, the outermost first. A file whose rules cannot be told is an error. */
async function rulesOf(places: readonly ProjectPlace[]): Promise<Rules> {
  const trusted: ConfigFile[] = [];
  const untrusted: Tightening[] = [];
  const notes: string[] = [];
  for (const { path, file, last, problem } of places.toReversed()) {
    if (problem !== undefined) throw unusable(path, problem);
    if (file?.trusted) trusted.push(parseConfig(file.text, path));
    if (last !== undefined) trusted.push(parseConfig(last, `the trusted text of ${path}`));
    if (!file || file.trusted) continue;
    const found = await readTightening(file.text, path);
    untrusted.push(found);
    notes.push(...found.problems.map((what) => `${path}: ${what}, so that part forbids nothing`));
    const count = untrusted.reduce((sum, { deny, approve }) => sum + deny.length + approve.length, 0);
    if (count > MAX_UNTRUSTED_PATTERNS) {
      throw unusable(path, `untrusted files have more than ${MAX_UNTRUSTED_PATTERNS} patterns`);
    }
  }
  return { trusted, untrusted, notes };
}

function noteOf({ path, file, last, isForeign }: ProjectPlace): string[] {
  const root = projectRoot({ path });
  const held = `what the trusted text forbids holds until \`agentcards trust --forget\``;
  if (isForeign) return [`${path} belongs to another user and is not used`];
  if (!file) return last === undefined ? [] : [`${path} is gone; ${held} in ${root}`];
  if (file.trusted) return [];
  return [
    `${path} is not used until you run \`agentcards trust\` in that folder, except for what it forbids${
      last === undefined ? "" : `; it was trusted before and has changed: ${held}`
    }`,
  ];
}
