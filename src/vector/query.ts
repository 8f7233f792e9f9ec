import { terms } from "../model/mod.ts";
import { restated } from "./everyday.ts";

/** A request as search uses it. */
export interface Query {
  /** As it was said, without what is no word. */
  readonly text: string;
  /** The request, sentence by sentence, without polite phrases. */
  readonly steps: readonly string[];
  /** The request in the words that tools use, where it is said in everyday words. */
  readonly restated: readonly string[];
  readonly terms: readonly string[];
}

const MAX_LENGTH = 2_000;
const MAX_STEPS = 8;

export function readQuery(given: string): Query {
  // A key or a data URL means nothing and costs time.
  const text = given.slice(0, MAX_LENGTH).replace(/\S{60,}/g, " ").trim() || given.slice(0, 200);
  const steps = withoutCourtesy(text).split(/(?<=[.!?;])\s+|\n+/).map((step) => step.trim()).filter(Boolean);
  const meant = restated(text);
  return {
    text,
    steps: [...steps.slice(0, MAX_STEPS - 1), ...rest(steps)],
    restated: meant,
    terms: [...new Set([...terms(text), ...meant.flatMap(terms)])],
  };
}

/** The last step takes up all that are left. */
function rest(steps: readonly string[]): string[] {
  return steps.length >= MAX_STEPS ? [steps.slice(MAX_STEPS - 1).join(" ")] : [];
}

/** Phrases that a request begins with and that say nothing about it. */
const COURTESY = [
  /\b(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening))\b(?: there)?[,!.]*\s*/gi,
  /\b(?:can|could|would|will|may|might) (?:you|i|we)(?: please| kindly| possibly| also)?\s*/gi,
  /\bi(?:'m| am|'ve| have)? (?:really |just |also |currently |actually )*(?:want|wanna|need|would like|'d like|like|wish|am trying|trying|am looking|looking|hoping|planning|interested in|in need of|curious about|curious)(?: to| for)?\s*/gi,
  /\bi(?:'d| would) (?:like|love|appreciate)(?: to| for| it if)?\s*/gi,
  /\b(?:please|kindly|thanks|thank you)\b[,!.]*\s*/gi,
  /\b(?:help|assist|guide|show|tell|give|provide|send|get) (?:me|us)(?: to| with| in| out| by)?\s*/gi,
  /\b(?:i need|need) (?:your )?(?:help|assistance)(?: with| in| to)?\s*/gi,
  /\b(?:is there (?:a|any) way to|is it possible to|do you (?:know|have)|are you able to|let me know|i wonder if|i was wondering if|what about|how about)\b\s*/gi,
];
/** A request of nothing but courtesies is kept as it is. */
const LEAST = 8;

function withoutCourtesy(text: string): string {
  const core = COURTESY.reduce((left, phrase) => left.replace(phrase, " "), text)
    .replace(/[^\S\n]+/g, " ").replace(/ +([,.?!])/g, "$1").trim();
  return core.length >= LEAST ? core : text;
}
