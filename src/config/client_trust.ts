import { isObject } from "../model/mod.ts";
import { fs, system } from "../platform/start.ts";
import { join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** A larger record is not read. */
const MAX_BYTES = 64 * 1024 * 1024;

interface Read {
  readonly stamp: string;
  readonly trusted: ReadonlySet<string>;
}

/** The last reading of each record: Claude Code keeps much more in it, and every session asks. */
const readings = new Map<string, Read>();

/**
 * The folders that the user trusts by Claude Code's own record, its `hasTrustDialogAccepted`. `within` is the folder in
 * question: a record that lies in it would be the folder's own word.
 */
export async function trustedByClaude(env: Environment, within: string): Promise<ReadonlySet<string>> {
  const base = env.CLAUDE_CONFIG_DIR || env.HOME || env.USERPROFILE;
  if (!base) return new Set();
  const path = await fs.realPath(join(base, ".claude.json")).catch(() => undefined);
  if (path === undefined || env.CLAUDE_CONFIG_DIR && path.startsWith(join(within, "/"))) return new Set();
  const info = await fs.stat(path).catch(() => undefined);
  if (!info?.isFile || info.size > MAX_BYTES || (info.uid !== null && info.uid !== system.uid())) return new Set();
  const stamp = `${info.ino} ${info.size} ${info.mtime?.getTime()}`;
  const known = readings.get(path);
  if (known?.stamp === stamp) return known.trusted;
  const trusted = await read(path);
  readings.set(path, { stamp, trusted });
  return trusted;
}

/** A record that is not there, or not what it should be, trusts nothing. */
async function read(path: string): Promise<ReadonlySet<string>> {
  try {
    const { projects }: { projects?: unknown } = JSON.parse(await fs.readTextFile(path));
    const entries = Object.entries(isObject(projects) ? projects : {});
    return new Set(
      entries.filter(([, project]) => isObject(project) && project.hasTrustDialogAccepted === true)
        .map(([folder]) => folder),
    );
  } catch {
    return new Set();
  }
}
