import { stdio } from "../../platform/start.ts";
/** A usual size, where there is no terminal or it does not know its own. */
const USUAL = { columns: 80, rows: 24 };

/** How much room the terminal has. */
export function screen(): { columns: number; rows: number } {
  try {
    const { columns, rows } = stdio.consoleSize();
    return { columns: columns || USUAL.columns, rows: rows || USUAL.rows };
  } catch {
    return USUAL;
  }
}

const NO_COLUMN = /[\p{M}\u200b-\u200f\ufe0e\ufe0f]/u;
const TWO_COLUMNS =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]/u;

// deno-lint-ignore no-control-regex -- colours are made of them
const COLOURS = /\x1b\[[\d;]*m/g;

/** How many columns a text takes; colours take none. */
export function widthOf(coloured: string): number {
  const text = coloured.includes("\x1b") ? coloured.replace(COLOURS, "") : coloured;
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return [...text].reduce((sum, character) => sum + columnsOf(character), 0);
}

function columnsOf(character: string): number {
  return NO_COLUMN.test(character) ? 0 : TWO_COLUMNS.test(character) ? 2 : 1;
}

/** A text within so many columns, its end marked when something was cut. */
export function fit(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  if (columns < 1) return "";
  let kept = "";
  let used = 0;
  for (const character of text) {
    used += columnsOf(character);
    if (used > columns - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

/** A text in exactly so many columns. */
export function pad(text: string, columns: number): string {
  const kept = fit(text, columns);
  return kept + " ".repeat(Math.max(0, columns - widthOf(kept)));
}

/** A text of one line in lines of at most so many columns, broken between words where that is possible. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((long) => pieces(long, columns))) {
    if (line !== "" && widthOf(line) + 1 + widthOf(word) > columns) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

function pieces(word: string, columns: number): string[] {
  const found = [""];
  for (const character of word) {
    const last = found.at(-1)!;
    if (last !== "" && widthOf(last) + columnsOf(character) > columns) found.push(character);
    else found[found.length - 1] = last + character;
  }
  return found;
}
