import {
  type ApprovalRequest,
  type Ask,
  canonicalJson,
  cut,
  foldArguments,
  type HumanWord,
  isObject,
  oneLine,
  sha256,
  splitToolId,
} from "../../model/mod.ts";
import { fingerprint } from "../catalogue/catalogue.ts";
import type { Session } from "../session.ts";

type Asked = Omit<ApprovalRequest, "definition">;

/** The key of an approval: this call of this tool as it is defined now, on the server as it is configured. */
export async function approvalKey(session: Session, { tool, arguments: given }: Asked): Promise<string> {
  const { server = "", name } = splitToolId(tool);
  const entry = session.config.servers[server];
  const definition = session.inMemory(server, name)?.hash ?? "";
  return await sha256(canonicalJson([tool, given, definition, entry ? await fingerprint(entry) : ""]));
}

/**
 * Shows one call to the human: tool, server, arguments, and the rule that asks. A terminal can show the call whole
 * meanwhile, and decide. Undefined: the human gave no answer.
 */
export async function putApproval(
  { shared, cwd }: Pick<Session, "shared" | "cwd">,
  { tool, arguments: given, why }: Asked,
  ask: Ask,
  signal: AbortSignal,
): Promise<HumanWord | undefined> {
  const shown = foldArguments(given) ?? { text: `${Object.keys(given).length} arguments`, folded: 1 };
  using waiting = await shared.approvals.open({ tool, arguments: given, why, cwd });
  const whole = shown.folded > 0 ? `\n\`agentcards approve ${waiting.id}\` at a terminal shows it whole.` : "";
  const dialogue = ask({
    method: "elicitation/create",
    params: {
      mode: "form",
      message: `Allow ${oneLine(tool)}? It was asked for because ${why}. Arguments:\n${shown.text}${whole}`,
      requestedSchema: {
        type: "object",
        properties: {
          allow: { type: "boolean", title: "Allow this one call", default: false },
          note: { type: "string", title: "Why (optional)", maxLength: LONGEST_NOTE },
        },
        required: ["allow"],
      },
    },
    approval: { tool, arguments: given, why },
  }, AbortSignal.any([signal, waiting.over]));
  dialogue.catch(() => {});
  return await Promise.race([waiting.decided, dialogue.then(decisionIn)]);
}

const LONGEST_NOTE = 2_000;

function decisionIn({ action, content }: Record<string, unknown>): HumanWord | undefined {
  if (action === "cancel") return undefined;
  const { allow, note } = isObject(content) ? content : {};
  const word = action === "accept" && allow === true ? "approve" : "reject";
  return { word, ...typeof note === "string" && note.trim() !== "" && { note: cut(note.trim(), LONGEST_NOTE) } };
}
