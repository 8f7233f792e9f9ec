import {
  type Change,
  claudeSettings,
  type FileEdit,
  type Machine,
  newlyAllowed,
  OWN_NAME,
  parseFile,
  rewrite,
} from "../../config/mod.ts";
import { fs } from "../../platform/start.ts";

/** Claude Code's name of all tools of our entry. */
const OWN_TOOLS = `mcp__${OWN_NAME}`;

/**
 * The change that lets Claude Code call our own tools unasked, so that one side asks; nothing where its settings speak of
 * them already, or cannot be edited.
 */
export async function ownToolsChange(changes: readonly Change[], machine: Machine): Promise<Change[]> {
  if (!changes.some(({ client }) => client === "claude-code")) return [];
  const [path] = claudeSettings(machine);
  try {
    const text = await fs.readTextFile(path!).catch((error) => {
      if (fs.isNotFound(error)) return undefined;
      throw error;
    });
    const allow = newlyAllowed(parseFile(text ?? "", "json"), [OWN_TOOLS]);
    const edit: FileEdit = { format: "json", remove: [], add: [], allow };
    rewrite(text ?? "", edit);
    return allow.length > 0 ? [{ client: "claude-code", path: path!, edit, isNew: text === undefined }] : [];
  } catch {
    return [];
  }
}
