import { type BackupBefore, backupsBefore } from "../db/mod.ts";
import { AgentCardsError, oneLine } from "../model/mod.ts";

/** The backup that was made before a version changed the database. */
export async function backupOfBefore(folder: string, version: string): Promise<BackupBefore> {
  const all = await backupsBefore(folder);
  const found = all.find((backup) => backup.version === version);
  if (found) return found;
  const versions = [...new Set(all.map((backup) => backup.version))];
  throw new AgentCardsError("USAGE", `There is no backup of before ${oneLine(version, 40)} in ${folder}`, {
    hint: versions.length > 0
      ? `There is one of before ${versions.join(", ")}.`
      : "No version has changed the database yet.",
  });
}
