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
  session: Session,
  { tool, arguments: given, why, isGrantable = false }: Asked,
  ask: Ask,
  signal: AbortSignal,
): Promise<HumanWord | undefined> {
  const { shared, cwd } = session;
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
          allow: isGrantable ? CHOICES : { type: "boolean", title: "Allow this one call", default: false },
          note: { type: "string", title: "Why (optional)", maxLength: LONGEST_NOTE },
        },
        required: ["allow"],
      },
    },
    approval: { tool, arguments: given, why },
  }, AbortSignal.any([signal, waiting.over]));
  dialogue.catch(() => {});
  const answer = await Promise.race([waiting.decided, dialogue.then(decisionIn)]);
  if (answer) unattended.delete(session);
  else unattended.add(session);
  if (answer?.scope && isGrantable) await grant(session, tool, answer.scope);
  return answer;
}

/** The answers to the question about the first use of a tool. */
const CHOICES = {
  type: "string",
  title: "Allow this call",
  enum: ["no", "once", "session", "always"],
  enumNames: ["no", "once", "for this session", "always, as long as the tool stays as it is"],
  default: "no",
};

/** Sessions whose client gave up its last dialogue without an answer, as programs without a person do. */
const unattended = new WeakSet<Session>();

/** True if nobody seems to sit in front of the client. */
export function isUnattended(session: Session): boolean {
  return unattended.has(session);
}

async function grant(session: Session, tool: string, scope: "session" | "always"): Promise<void> {
  const { server = "", name } = splitToolId(tool);
  const definition = session.inMemory(server, name)?.hash;
  if (definition === undefined) return;
  if (scope === "session") session.grants.allow(tool, definition);
  else await session.grants.allowAlways(tool, definition);
  session.shared.audit.append({ kind: "decision", tool, rule: "first use", word: `allowed: ${scope}`, by: "human" });
}

const LONGEST_NOTE = 2_000;

function decisionIn({ action, content }: Record<string, unknown>): HumanWord | undefined {
  if (action === "cancel") return undefined;
  const { allow, note } = isObject(content) ? content : {};
  const isAllowed = allow === true || allow === "once" || allow === "session" || allow === "always";
  const word = action === "accept" && isAllowed ? "approve" : "reject";
  const scope = word === "approve" && (allow === "session" || allow === "always") ? allow : undefined;
  return {
    word,
    ...scope && { scope },
    ...typeof note === "string" && note.trim() !== "" && { note: cut(note.trim(), LONGEST_NOTE) },
  };
}
