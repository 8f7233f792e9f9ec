import {
  createHookLog,
  createSpoolReader,
  type HookListener,
  type HookLog,
  type Session,
  type Shared,
} from "../call/mod.ts";
import { type Home, hookKeyCheck } from "../config/mod.ts";
import type { Database } from "../db/mod.ts";
import { END_EVENT, messageOf, PROMPT_EVENT } from "../model/mod.ts";
import type { Snapshots } from "../snapshot/mod.ts";
import { createPromptHints, type Learning, type PromptHints } from "../suggest/mod.ts";
import { log as logLine, type Redactor } from "../telemetry/mod.ts";
import type { Triggers } from "../workflow/mod.ts";

export interface HookOptions {
  readonly home: Home;
  readonly database: Database;
  readonly redactor: Redactor;
  readonly learning: Learning;
  /** The sessions that are open. */
  sessions(): ReadonlySet<Session>;
  readonly snapshots: Pick<Snapshots, "prompts">;
}

/** The events of clients' hooks: their rows, their key, the files that wait, and those who learn from them. */
export interface Hooks extends AsyncDisposable {
  readonly log: HookLog;
  readonly promptHints: PromptHints;
  /** A way to run saved workflows that tells prompt hints of each. */
  noting(runSaved: Shared["runSaved"]): Shared["runSaved"];
  isKey(given: unknown): Promise<boolean>;
  /** Begins to look for files, once hooks are installed. */
  opened(): void;
  /** Has events start the workflows that wait for them. */
  tell(triggers: Pick<Triggers, "onHook">): void;
}

export function createHooks({ home, database, redactor, learning, snapshots, sessions }: HookOptions): Hooks {
  const log = createHookLog(database);
  const isKey = hookKeyCheck(home.hookKeys);
  /** Personal data is hidden where one of the sessions keeps it from agents. */
  const clean = (text: string) => {
    const privacy = [...sessions()].find((session) => session.isUsable && session.privacy)?.privacy;
    const redacted = redactor.redact(text);
    return privacy?.hide(redacted, "agentcards") ?? redacted;
  };
  const spooled = createSpoolReader({ folder: home.hooks, hooks: log, isKey, clean });
  const promptHints = createPromptHints(learning);
  log.observe(learnPrompts);
  log.observe(recordPrompts(snapshots));
  return {
    log,
    isKey,
    promptHints,
    noting: (runSaved) => (session, name, call) => {
      promptHints.used(session, name);
      return runSaved(session, name, call);
    },
    opened: () => void spooled.start(),
    tell: ({ onHook }) =>
      void log.observe((event) => {
        onHook({ ...event }).catch((error) => logLine("warning", "hook_trigger_failed", { reason: messageOf(error) }));
      }),
    async [Symbol.asyncDispose]() {
      spooled[Symbol.dispose]();
      await log.flush();
    },
  };
}

/** A prompt is what the user said, if it came over the client's own connection. */
const learnPrompts: HookListener = ({ event, isDirect, content: { prompt } }, session) => {
  if (event !== PROMPT_EVENT || !isDirect || !session || prompt === undefined) return;
  session.words.add(prompt);
  session.observer.asked(prompt);
};

/** The files of the client's folder are recorded at a prompt and at the end of the turn, so that both can be compared. */
function recordPrompts({ prompts }: Pick<Snapshots, "prompts">): HookListener {
  return ({ event, isDirect, session: conversation }, session) => {
    if (!isDirect || !session || conversation === null) return;
    const done = event === PROMPT_EVENT
      ? prompts.begins(session.cwd, conversation)
      : event === END_EVENT
      ? prompts.ends(conversation)
      : undefined;
    done?.catch((error) => logLine("warning", "prompt_not_recorded", { reason: messageOf(error) }));
  };
}
