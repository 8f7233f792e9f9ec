import { terms } from "../model/mod.ts";
import { literalsIn } from "./english/literals.ts";

/** The words of a request without its values. */
export function wordsOf(request: string): string[] {
  const plain = literalsIn(request).reduceRight(
    (text, { start, end }) => text.slice(0, start) + text.slice(end),
    request,
  );
  return [...new Set(terms(plain))].slice(0, 60);
}
