import { InvalidArgumentError } from "@commander-js/extra-typings";
import type { Terminal } from "./screen/terminal.ts";

/** The terminal that commands print to, and the function that takes their exit code. */
export interface Surroundings {
  readonly terminal: Terminal;
  done(code: number): void;
}

/** A number that counts something. */
export function positive(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError("must be a positive whole number");
}
