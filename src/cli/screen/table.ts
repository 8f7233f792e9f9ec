import { stdio } from "../../platform/start.ts";
import { fit, screen, widthOf, wrap } from "./screen.ts";

type Paint = (text: string) => string;

export interface TableOptions {
  readonly paint?: Paint;
  /** True: cells that are too long go on in the next line, broken at words, instead of being cut. */
  readonly isWrapped?: boolean;
  /** The room there is; that of the terminal, and without one as much as is needed. */
  readonly columns?: number;
}

const GAP = 2;
/** No column is made narrower. */
const LEAST = 8;

/** Rows as aligned columns, the first row as heading; columns of numbers go to the right. No line is too long for a terminal. */
export function table(rows: readonly (readonly string[])[], options: TableOptions | Paint = {}): string {
  const { paint = (text: string) => text, isWrapped = false, columns = room() } = typeof options === "function"
    ? { paint: options }
    : options;
  const natural = rows[0]!.map((_, column) => Math.max(...rows.map((row) => widthOf(row[column] ?? ""))));
  const widths = narrowed(natural, columns);
  const isNumeric = widths.map((_, column) =>
    rows.slice(1).every((row) => /^[\d.,]*( (ms|s|min|h))?$|^–$/.test(row[column] ?? ""))
  );
  const lines = rows.flatMap((row, at) => {
    const cells = widths.map((width, column) => cellLines(row[column] ?? "", width, isWrapped));
    const height = Math.max(...cells.map(({ length }) => length));
    return Array.from({ length: height }, (_, line) => {
      const text = cells.map((cell, column) => {
        const part = cell[line] ?? "";
        const gap = " ".repeat(Math.max(0, widths[column]! - widthOf(part)));
        return isNumeric[column] ? gap + part : part + gap;
      }).join(" ".repeat(GAP)).trimEnd();
      return at === 0 ? paint(text) : text;
    });
  });
  return lines.join("\n") + "\n";
}

function room(): number {
  return stdio.stdout.isTerminal() ? screen().columns : Infinity;
}

function cellLines(text: string, width: number, isWrapped: boolean): string[] {
  if (widthOf(text) <= width) return [text];
  return isWrapped ? wrap(text, width) : [fit(text, width)];
}

/** Widths that fit together: the widest column gives first, the last one before others as wide. */
function narrowed(natural: readonly number[], columns: number): number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, width) => sum + width, 0) + GAP * (widths.length - 1);
  while (total() > columns) {
    const widest = Math.max(...widths);
    if (widest <= LEAST) break;
    widths[widths.lastIndexOf(widest)]!--;
  }
  return widths;
}
