import { terms } from "../../model/mod.ts";
import type { PastCall } from "./template.ts";

/** A conversation that is remembered: its prompt and its calls. */
export interface Conversation {
  readonly prompt: string;
  readonly calls: readonly {
    readonly tool: string;
    readonly call: string;
    readonly arguments: PastCall["arguments"];
    readonly reads: boolean;
  }[];
}

/** A read that came next in earlier conversations like this one. */
export interface Recalled {
  readonly tool: string;
  readonly arguments: PastCall["arguments"];
  readonly call: string;
  /** The conversations that are like this one, and those of them in which the call came next. */
  readonly alike: number;
  readonly support: number;
  /** True if the conversations had the same prompt. */
  readonly isSame: boolean;
  /** The most calls in a row that agree with the newest ones. */
  readonly agrees: number;
}

export interface Conversations {
  recall(prompt: string, calls: readonly PastCall[]): Recalled[];
  add(conversation: Conversation): void;
  all(): readonly Conversation[];
}

const MOST = 300;
const MOST_CALLS = 40;
const MOST_ALIKE = 8;
/** The calls that may come next, after the place that both have reached. */
const AHEAD = 3;
const LIKE = 0.6;

export function createConversations(): Conversations {
  let kept: { readonly conversation: Conversation; readonly words: ReadonlySet<string> }[] = [];

  return {
    recall(prompt, calls) {
      const words = new Set(terms(prompt));
      const likeness = prompt === "" ? [] : kept.map((one) => ({ ...one, like: overlap(words, one.words) }))
        .filter(({ like, conversation }) => like >= LIKE || conversation.prompt === prompt);
      const isSame = likeness.length > 0;
      const alike = (isSame ? likeness.toSorted((a, b) => b.like - a.like) : byCalls(kept, calls)).slice(0, MOST_ALIKE);
      const found = new Map<string, { -readonly [K in keyof Recalled]: Recalled[K] }>();
      for (const { conversation } of alike) {
        const { at, agrees } = reached(conversation, calls);
        const seen = new Set<string>();
        for (const { tool, call, arguments: args, reads } of conversation.calls.slice(at, at + AHEAD)) {
          if (!reads) break;
          if (call === "" || seen.has(call)) continue;
          seen.add(call);
          const known = found.get(call) ??
            { tool, call, arguments: args, alike: alike.length, support: 0, isSame, agrees };
          known.support++;
          known.agrees = Math.max(known.agrees, agrees);
          found.set(call, known);
        }
      }
      return [...found.values()];
    },
    add(conversation) {
      if (conversation.calls.length < 2) return;
      const calls = conversation.calls.slice(0, MOST_CALLS);
      kept.push({ conversation: { ...conversation, calls }, words: new Set(terms(conversation.prompt)) });
      if (kept.length > MOST) kept = kept.slice(-MOST);
    },
    all: () => kept.map(({ conversation }) => conversation),
  };
}

function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const both = a.intersection(b).size;
  return both === 0 ? 0 : both / (a.size + b.size - both);
}

type Kept = { readonly conversation: Conversation; readonly words: ReadonlySet<string> };

/** Conversations that share calls with this one, the newest call included; those that share most come first. */
function byCalls(kept: readonly Kept[], calls: readonly PastCall[]): Kept[] {
  const last = calls.at(-1)?.call ?? "";
  if (last === "" || calls.length < 2) return [];
  const names = new Set(calls.map(({ call }) => call));
  return kept.map((one) => {
    const own = new Set(one.conversation.calls.map(({ call }) => call));
    return { ...one, shared: own.has(last) ? names.intersection(own).size : 0 };
  }).filter(({ shared }) => shared >= 2).toSorted((a, b) => b.shared - a.shared);
}

/** The place in an earlier conversation that this one has reached: after the longest run of equal calls. */
function reached(earlier: Conversation, calls: readonly PastCall[]): { at: number; agrees: number } {
  let [at, agrees] = [calls.length, 0];
  for (let end = earlier.calls.length; end > 0; end--) {
    let run = 0;
    while (run < end && run < calls.length && run < 4) {
      const [a, b] = [earlier.calls[end - 1 - run]!, calls[calls.length - 1 - run]!];
      if (a.call === b.call && a.call !== "") run++;
      else break;
    }
    if (run > agrees) [at, agrees] = [end, run];
  }
  if (agrees > 0) return { at, agrees };
  // The same tool with other words, at about the same place.
  const last = calls.at(-1)?.tool;
  const near = earlier.calls.findIndex(({ tool }, i) => tool === last && i >= calls.length - 2);
  return near >= 0 ? { at: near + 1, agrees: 0 } : { at, agrees: 0 };
}
