import {
  findProject,
  locateHome,
  parseConfig,
  readConfigFile,
  type ServerEntry,
  writeConfig,
} from "../../config/mod.ts";
import { AgentCardsError, messageOf, nearest } from "../../model/mod.ts";
import { fs, system } from "../../platform/start.ts";

/** The user's own configuration file, as it is to be changed. */
export interface OwnFile {
  readonly path: string;
  readonly text: string;
  readonly servers: Readonly<Record<string, ServerEntry>>;
}

/** Reads the user's configuration file; one that cannot be used is an error, and stays as it is. */
export async function readOwnFile(): Promise<OwnFile> {
  const path = locateHome().config;
  const text = await fs.readTextFile(path).catch((cause) => {
    if (fs.isNotFound(cause)) return "";
    throw new AgentCardsError("CONFIG_INVALID", `Cannot read ${path}: ${messageOf(cause)}`, { cause });
  });
  return { path, text, servers: parseConfig(text, path).servers ?? {} };
}

/** Writes the changed text, unless somebody else has changed the file meanwhile. */
export async function writeOwnFile({ path, text }: OwnFile, changed: string): Promise<void> {
  const now = await fs.readTextFile(path).catch(() => "");
  if (now !== text) {
    throw new AgentCardsError("CONFIG_INVALID", `Cannot change ${path}: another program has just changed it`, {
      hint: "Run the command again.",
    });
  }
  await writeConfig(path, changed);
}

/** The definition of a server in the user's file. A name that is not there is an error that says where it is, or what is near. */
export async function requireEntry({ servers, path }: OwnFile, name: string): Promise<ServerEntry> {
  const entry = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (entry) return entry;
  const project = await findProject(system.cwd(), locateHome());
  const isThere = project &&
    await readConfigFile(project.path).then((file) => Object.hasOwn(file.servers ?? {}, name), () => false);
  const near = nearest(name, Object.keys(servers), 3);
  throw new AgentCardsError("SERVER_UNKNOWN", `There is no server "${name}" in ${path}`, {
    hint: isThere
      ? `It stands in ${project.path}; change it there, then run \`agentcards trust\`.`
      : near.length > 0
      ? `Nearest: ${near.join(", ")}.`
      : `Configured: ${Object.keys(servers).join(", ") || "none"}.`,
  });
}
