/** Rows as aligned columns, the first row as heading; columns of numbers go to the right. */
export function table(rows: readonly (readonly string[])[], paint: (text: string) => string = (text) => text): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => width(row[column] ?? ""))));
  const isNumeric = widths.map((_, column) =>
    rows.slice(1).every((row) => /^[\d.,]*( ms)?$|^–$/.test(row[column] ?? ""))
  );
  const lines = rows.map((row) =>
    row.map((cell, column) => {
      const gap = " ".repeat(widths[column]! - width(cell));
      return isNumeric[column] ? gap + cell : cell + gap;
    }).join("  ").trimEnd()
  );
  return [paint(lines[0]!), ...lines.slice(1)].join("\n") + "\n";
}

function width(text: string): number {
  return [...text].length;
}
