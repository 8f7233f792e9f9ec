import { spelledOut } from "../model/mod.ts";

/** A value as one line of JSON in which nothing is hidden: what a terminal would not show is written as an escape. */
export function jsonLine(value: unknown): string {
  return spelledOut(JSON.stringify(value)) + "\n";
}
