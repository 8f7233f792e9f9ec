import type { TakeQuestion } from "../../control/mod.ts";
import { cut, isObject, oneLine, spelledOut } from "../../model/mod.ts";
import { askAboutCall, type AskedCall, canAskHere } from "./approval.ts";
import { type Field, fieldsOf } from "./question_fields.ts";
import type { Terminal } from "../screen/terminal.ts";

type Prompts = Pick<typeof import("@clack/prompts"), "text" | "confirm" | "select" | "multiselect" | "isCancel">;
/** An answer as the protocol has it; none where the human leaves it for later. */
type Answer = { action: "accept"; content?: Record<string, unknown> } | { action: "decline" } | undefined;

const SHOWN_CHARACTERS = 4_000;
const NOTHING = -1;

/** Takes what a server asks while a command waits for it, where a human sits at a terminal. `clear` makes room for it. */
export function questionTaker(terminal: Terminal, clear: () => Disposable): TakeQuestion | undefined {
  if (!canAskHere()) return undefined;
  let turn: Promise<unknown> = Promise.resolve();
  // Two questions at once would write over each other.
  return (request, signal) => {
    const answer = turn.then(async (): Promise<Answer> => {
      if (signal.aborted) return undefined;
      using _room = clear();
      if (isObject(request.approval)) {
        return await putApproval(request.approval as unknown as AskedCall, terminal, signal);
      }
      return await putQuestion(request, { terminal, prompts: await promptsUntil(signal) });
    });
    turn = answer.catch(() => {});
    return answer;
  };
}

/** A call that this command makes, and that a rule wants a human to allow. */
async function putApproval(call: AskedCall, terminal: Terminal, signal: AbortSignal): Promise<Answer> {
  const allow = await askAboutCall(call, { terminal, question: "Allow exactly this call?", signal });
  return allow === undefined ? undefined : { action: "accept", content: { allow } };
}

/** The prompts, each closed when nobody waits for its answer any more. */
async function promptsUntil(signal: AbortSignal): Promise<Prompts> {
  const { text, confirm, select, multiselect, isCancel } = await import("@clack/prompts");
  return {
    text: (options) => text({ ...options, signal }),
    confirm: (options) => confirm({ ...options, signal }),
    select: (options) => select({ ...options, signal }),
    multiselect: (options) => multiselect({ ...options, signal }),
    isCancel,
  };
}

interface Place {
  readonly terminal: Terminal;
  readonly prompts: Prompts;
}

async function putQuestion({ params, from }: Record<string, unknown>, place: Place): Promise<Answer> {
  const { terminal, prompts } = place;
  const { message, mode, url, requestedSchema } = isObject(params) ? params : {};
  // The name that stands before the message for other clients is said here in a line of its own.
  const said = String(message ?? "").replace(`[server ${from}] `, "");
  const words = cut(spelledOut(said), SHOWN_CHARACTERS);
  // Who asks is ours to say, and what follows is theirs.
  terminal.out(`\nThe server "${oneLine(String(from ?? "?"), 60)}" asks:\n\n  ${words.replaceAll("\n", "\n  ")}\n\n`);
  if (mode === "url") return await sendToPage(String(url), place);
  const fields = fieldsOf(requestedSchema);
  if (!fields) {
    terminal.out("It wants to know more, or other things, than can be asked here.\n");
    return undefined;
  }
  const word = await prompts.select({
    message: "Answer it?",
    options: [
      { value: "accept", label: fields.length > 0 ? "Answer" : "Yes" },
      { value: "decline", label: "Refuse to answer" },
      { value: "cancel", label: "Not now" },
    ],
  });
  if (word !== "accept") return word === "decline" ? { action: "decline" } : undefined;
  const content: [string, unknown][] = [];
  for (const field of fields) {
    const value = await putField(field, prompts);
    if (prompts.isCancel(value)) return undefined;
    if (value !== undefined) content.push([field.name, value]);
  }
  terminal.out("\n");
  // Not by assignment: a field may be called __proto__.
  return { action: "accept", content: Object.fromEntries(content) };
}

/** The address is shown whole, and nobody goes there but the human. */
async function sendToPage(url: string, { prompts, terminal }: Place): Promise<Answer> {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !["https:", "http:"].includes(parsed.protocol)) {
    terminal.out(`It wants you to open what is not the address of a page: ${oneLine(url, 200)}\nIt was refused.\n`);
    return { action: "decline" };
  }
  terminal.out(
    `  ${spelledOut(parsed.href)}\n\n  The page is at ${parsed.host}. Open it yourself if you trust it.\n\n`,
  );
  const word = await prompts.confirm({ message: "Go on? (yes once you are there)", initialValue: false });
  return prompts.isCancel(word) ? undefined : { action: word ? "accept" : "decline" };
}

async function putField(field: Field, { text, confirm, select, multiselect, isCancel }: Prompts): Promise<unknown> {
  const message = field.label;
  switch (field.kind) {
    case "yes_no":
      return await confirm({ message, initialValue: field.usual });
    case "one": {
      // By their places: a choice may be any text, the empty one too.
      const options = field.choices.map(({ label }, value) => ({ value, label }));
      if (!field.isRequired) options.push({ value: NOTHING, label: "(nothing)" });
      const usual = field.choices.findIndex(({ value }) => value === field.usual);
      const chosen = await select({ message, options, ...usual >= 0 && { initialValue: usual } });
      return isCancel(chosen) ? chosen : field.choices[chosen]?.value;
    }
    case "many": {
      const { least, most } = field;
      for (;;) {
        const options = [...field.choices];
        const initialValues = [...field.usual];
        const chosen = await multiselect({ message, options, required: least > 0, initialValues });
        if (isCancel(chosen) || (chosen.length >= least && chosen.length <= most)) return chosen;
      }
    }
    case "text": {
      const typed = await text({
        message,
        initialValue: field.usual,
        validate: (value) => field.problem(value ?? ""),
      });
      if (isCancel(typed)) return typed;
      return (typed ?? "") === "" ? undefined : field.valueOf(typed);
    }
  }
}
