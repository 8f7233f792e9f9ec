import { type Home, replaceFile } from "../../config/mod.ts";
import type { Database } from "../../db/mod.ts";
import { fs } from "../../platform/start.ts";
import { log } from "../../telemetry/mod.ts";
import { textOfTemplate } from "./from_run.ts";
import { readTemplates } from "./template_store.ts";

/** Tells that the workflows of the database are files already. */
const DONE = ".from-database";

/**
 * Writes the workflows that versions before 0.3 kept in the database as files, once. No file is overwritten, and the rows
 * stay where they are.
 */
export async function filesFromDatabase(home: Home, db: Database): Promise<void> {
  const done = `${home.workflows}/${DONE}`;
  if (await isThere(done)) return;
  const templates = await readTemplates(db);
  await fs.mkdir(home.workflows, { recursive: true, mode: 0o700 });
  for (const template of templates) {
    const path = `${home.workflows}/${template.name}.yaml`;
    if (await isThere(path)) continue;
    await replaceFile(path, new TextEncoder().encode(textOfTemplate(template)), 0o600);
    log("info", "workflow_became_file", { name: template.name, path });
  }
  await replaceFile(done, new TextEncoder().encode(`${templates.length}\n`), 0o600);
}

function isThere(path: string): Promise<boolean> {
  return fs.lstat(path).then(() => true, (error) => {
    if (fs.isNotFound(error)) return false;
    throw error;
  });
}
