import type { Session } from "../../call/mod.ts";
import { dirname } from "node:path";

/** A folder of files that a project has for its user, where the project is trusted. */
export function projectFolder(
  { loaded: { project, folder } }: Pick<Session, "loaded">,
  name: "workflows" | "prompts",
): string | undefined {
  if (project?.trusted) return `${dirname(project.path)}/${name}`;
  return folder?.trustedBy ? `${folder.path}/.agentcards/${name}` : undefined;
}
