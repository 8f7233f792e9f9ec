import type { AgentConfig } from "../config/mod.ts";
import type { AgentBudget } from "../dag/mod.ts";

/** Tokens of one request to a model; `cached` are a part of `input`. */
export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
}

/** The turns, tokens and costs of an agent's work so far. */
export interface Spent {
  readonly turns: number;
  readonly input: number;
  readonly output: number;
  readonly usd: number;
}

/** Counts the work of an agent, and tells when a bound is reached. */
export interface Meter {
  /** One more answer of its model. */
  turn(): void;
  /** The tokens of one answer; what was said before of the same answer is replaced. */
  tokens(answer: string, tokens: Tokens): void;
  /** The cost of all so far, by the program's own account. */
  cost(usd: number): void;
  /** Stops the clock while a human thinks; the returned function starts it again. */
  pause(): () => void;
  spent(): Spent;
  close(): void;
}

/** The time of an agent where nothing names one. */
const MINUTES = 30;
const MINUTE_MS = 60_000;
const MILLION = 1_000_000;

/** Begins to count. `onOver` hears the first bound that is reached, once. */
export function createMeter(
  budget: AgentBudget,
  { price, onOver }: { readonly price: AgentConfig["price"]; onOver(why: string): void },
): Meter {
  const answers = new Map<string, Tokens>();
  const minutes = budget.minutes ?? MINUTES;
  let turns = 0;
  let told = 0;
  let isOver = false;
  let pauses = 0;
  let leftMs = minutes * MINUTE_MS;
  let from = performance.now();
  let timer = setTimeout(late, leftMs);

  function over(why: string): void {
    if (isOver) return;
    isOver = true;
    onOver(`its budget is used up: ${why}`);
  }

  function late(): void {
    over(`it worked for ${minutes} ${minutes === 1 ? "minute" : "minutes"}`);
  }

  function spent(): Spent {
    let [input, output, cached] = [0, 0, 0];
    for (const one of answers.values()) {
      input += one.input;
      output += one.output;
      cached += one.cached ?? 0;
    }
    const byPrice = price
      ? ((input - cached) * price.input + cached * (price.cached ?? price.input) + output * price.output) / MILLION
      : 0;
    return { turns, input, output, usd: Math.max(byPrice, told) };
  }

  function look(): void {
    if (budget.turns !== undefined && turns > budget.turns) over(`it took more than ${budget.turns} turns`);
    const { usd } = spent();
    if (budget.usd !== undefined && usd > budget.usd) over(`it cost ${usd.toFixed(4)} of ${budget.usd} US dollars`);
  }

  return {
    turn() {
      turns++;
      look();
    },
    tokens(answer, tokens) {
      answers.set(answer, tokens);
      look();
    },
    cost(usd) {
      told = Math.max(told, usd);
      look();
    },
    pause() {
      if (pauses++ === 0) {
        clearTimeout(timer);
        leftMs -= performance.now() - from;
      }
      let isPaused = true;
      return () => {
        if (!isPaused) return;
        isPaused = false;
        if (--pauses > 0 || isOver) return;
        from = performance.now();
        timer = setTimeout(late, Math.max(0, leftMs));
      };
    },
    spent,
    close() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
