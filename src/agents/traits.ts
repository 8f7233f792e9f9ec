import type { AgentTask } from "../dag/mod.ts";

/** Words that tell the kind of a task where the task names none. */
const SPOKEN: Readonly<Record<string, RegExp>> = {
  review: /\b(?:review|audit|second opinion|criticise|criticize|critique|verify|judge|proofread)\b/i,
  system: /\b(?:shell|server|deploy|restart|install|logs?|process|disk|systemctl|kubectl|docker|run the tests?)\b/i,
  multi_step: /\b(?:first\b[^]*\bthen|step by step|steps|implement|refactor|migrate|fix)\b/i,
  plan: /\b(?:plan|design|propose|outline)\b/i,
};
/** A prompt of so many characters is a short one. */
const SHORT = 400;
/** So much of a prompt is looked at. */
const SEEN = 10_000;

/** An agent task as the conditions of routes see it. */
export interface TaskFacts {
  readonly traits: readonly string[];
  readonly text: string;
  readonly folder: string;
  readonly model: string;
  readonly usd: number;
  readonly own_tools: boolean;
}

/** The facts about a task: its own traits, else those that its text tells. */
export function factsOf(task: AgentTask, prompt: string, folder: string): TaskFacts {
  const text = prompt.slice(0, SEEN);
  const spoken = Object.entries(SPOKEN).filter(([, words]) => words.test(text)).map(([trait]) => trait);
  const short = prompt.length <= SHORT && spoken.length === 0 ? ["short"] : [];
  return {
    traits: task.traits ?? [...spoken, ...short],
    text,
    folder,
    model: task.model ?? "",
    usd: task.budget?.usd ?? 0,
    own_tools: task.own_tools === true,
  };
}
