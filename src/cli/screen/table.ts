import { cut } from "../../model/mod.ts";
import { stdio } from "../../platform/start.ts";

/** Rows as aligned columns, the first row as heading; columns of numbers go to the right. */
export function table(all: readonly (readonly string[])[], paint: (text: string) => string = (text) => text): string {
  const rows = fitTerminal(all);
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => width(row[column] ?? ""))));
  const isNumeric = widths.map((_, column) =>
    rows.slice(1).every((row) => /^[\d.,]*( (ms|s|min|h))?$|^–$/.test(row[column] ?? ""))
  );
  const lines = rows.map((row) =>
    row.map((cell, column) => {
      const gap = " ".repeat(widths[column]! - width(cell));
      return isNumeric[column] ? gap + cell : cell + gap;
    }).join("  ").trimEnd()
  );
  return [paint(lines[0]!), ...lines.slice(1)].join("\n") + "\n";
}

const LEAST = 20;

/** On a terminal the last column is cut so that no line breaks. */
function fitTerminal(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  if (!stdio.stdout.isTerminal()) return rows;
  const last = rows[0]!.length - 1;
  const others = rows[0]!.slice(0, last).map((_, column) => Math.max(...rows.map((row) => width(row[column] ?? ""))));
  const room = Math.max(LEAST, stdio.consoleSize().columns - others.reduce((sum, size) => sum + size + 2, 0));
  return rows.map((row) => row.map((cell, column) => column === last ? cut(cell, room) : cell));
}

function width(text: string): number {
  return [...text].length;
}
