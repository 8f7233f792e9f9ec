import type { TakeQuestion } from "../gateway/control_client.ts";
import { isObject } from "../model/json.ts";
import { oneLine, spelledOut } from "../model/text.ts";
import { canAskHere } from "./approval_prompt.ts";
import { type Field, fieldsOf } from "./question_fields.ts";
import type { Terminal } from "./terminal.ts";

type Prompts = Pick<typeof import("@clack/prompts"), "text" | "confirm" | "select" | "multiselect" | "isCancel">;
/** An answer as the protocol has it; none where the human leaves it for later. */
type Answer = { action: "accept"; content?: Record<string, unknown> } | { action: "decline" } | undefined;

const SHOWN_CHARACTERS = 4_000;

/** Takes what a server asks while a command waits for it, where a human sits at a terminal. `clear` makes room for it. */
export function questionTaker(terminal: Terminal, clear?: () => Disposable): TakeQuestion | undefined {
  if (!canAskHere()) return undefined;
  let turn: Promise<unknown> = Promise.resolve();
  // Two questions at once would write over each other.
  return ({ params }, signal) => {
    const answer = turn.then(async (): Promise<Answer> => {
      if (signal.aborted) return undefined;
      using _room = clear?.();
      return await putQuestion(isObject(params) ? params : {}, { terminal, prompts: await promptsUntil(signal) });
    });
    turn = answer.catch(() => {});
    return answer;
  };
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

async function putQuestion(params: Record<string, unknown>, place: Place): Promise<Answer> {
  const { terminal, prompts } = place;
  const { message, mode, url, requestedSchema } = params;
  const words = spelledOut(String(message ?? "")).slice(0, SHOWN_CHARACTERS);
  terminal.out(`\nA server asks:\n\n  ${words.replaceAll("\n", "\n  ")}\n\n`);
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
      const none = { value: "", label: "(nothing)" };
      const options = [...field.choices, ...field.isRequired ? [] : [none]];
      const chosen = await select({ message, options, ...field.usual !== undefined && { initialValue: field.usual } });
      return chosen === "" && !field.isRequired ? undefined : chosen;
    }
    case "many":
      return await multiselect({
        message,
        options: [...field.choices],
        required: field.isRequired,
        initialValues: [...field.usual],
      });
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
