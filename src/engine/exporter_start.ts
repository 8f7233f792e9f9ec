import type { Home } from "../config/start.ts";
import { fs, unrefTimer } from "../platform/start.ts";

const LOOK_EVERY_MS = 5_000;

/**
 * Brings the file with the variables of the runtime's exporter up to date. True if an engine has to start once more to
 * have them. A configuration that names no exporter costs the reading of one file.
 */
export async function startsAgain(home: Home): Promise<boolean> {
  const text = await fs.readTextFile(home.config).catch(() => "");
  const isWritten = await fs.stat(home.exporter).then(() => true, () => false);
  if (!text.includes("otlp") && !isWritten) return false;
  const { settleExporter } = await (import("./exporter.ts" as string) as Promise<typeof import("./exporter.ts")>);
  // Sessions tell what is wrong with a configuration.
  return await settleExporter(home).catch(() => false);
}

/** Looks now and then whether the configuration wants another exporter than the one that this engine began with. */
export function watchExporter(home: Home): { isDue(): boolean } {
  let isDue = false;
  let seen: string | undefined;
  const look = async () => {
    const { mtime, size } = await fs.stat(home.config);
    const now = `${mtime?.getTime()} ${size}`;
    const isChanged = seen !== undefined && seen !== now;
    seen = now;
    if (isChanged) isDue = await startsAgain(home) || isDue;
  };
  const timer = setInterval(() => void look().catch(() => {}), LOOK_EVERY_MS);
  unrefTimer(timer as unknown as number);
  void look().catch(() => {});
  return { isDue: () => isDue };
}
