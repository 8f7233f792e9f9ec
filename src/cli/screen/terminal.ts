import { stdio, system } from "../../platform/start.ts";
import process from "node:process";

/** Where a command prints, and how it may look there. */
export interface Terminal {
  readonly isTerminal: boolean;
  readonly color: boolean;
  out(text: string): void;
  err(text: string): void;
}

/** The terminal of this process: colour only where a person looks, and never against NO_COLOR. */
export function thisTerminal(): Terminal {
  const isTerminal = stdio.stdout.isTerminal();
  return {
    isTerminal,
    color: isTerminal && !system.noColor && system.variable("TERM") !== "dumb",
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
  };
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

/** Wraps text in a colour, where colour is wanted. */
export function painter(color: boolean): (style: keyof typeof CODES, text: string) => string {
  return (style, text) => color ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
}

/** Milliseconds as people read them. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 90) return `${seconds.toFixed(1)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

/** Bytes as people read them. */
export function bytes(count: number): string {
  return count < 1_000_000 ? `${Math.round(count / 1_000)} kB` : `${(count / 1_000_000).toFixed(0)} MB`;
}

/** A noun in the singular or the plural. */
export function plural(count: number, word: string): string {
  return count === 1 ? word : `${word}s`;
}
