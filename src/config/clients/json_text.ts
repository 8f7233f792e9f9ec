import {
  applyEdits,
  createScanner,
  findNodeAtLocation,
  type FormattingOptions,
  modify,
  type Node,
  parseTree,
} from "jsonc-parser";

/** `SyntaxKind.CommaToken`, an enum that exists in the types only. */
const COMMA = 5;

/**
 * The text without one property. jsonc-parser's own removal also takes the comments around it, those of the neighbours
 * included; here every comment stays.
 */
export function removeProperty(text: string, path: readonly string[]): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  return without(text, root && findNodeAtLocation(root, [...path])?.parent);
}

/** The text without a property of an object or an item of a list. */
function without(text: string, node: Node | undefined): string {
  const siblings = node?.parent?.children;
  if (!node || !siblings) return text;
  const start = node.offset;
  const end = start + node.length;
  const previous = siblings[siblings.indexOf(node) - 1];
  const after = commaAfter(text, end);
  const before = after === undefined && previous ? commaAfter(text, previous.offset + previous.length) : undefined;
  const comma = after ?? before;
  const ranges = [[start, end], ...(comma === undefined ? [] : [[comma, comma + 1]])] as [number, number][];
  return ranges.sort(([a], [b]) => b - a).reduce((rest, range) => cutOut(rest, range), text);
}

/** Where the comma behind an offset is, comments skipped. */
function commaAfter(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  return scanner.scan() as number === COMMA ? scanner.getTokenOffset() : undefined;
}

/** Lines that are empty because of the cut go with it. */
function cutOut(text: string, [start, end]: [number, number]): string {
  const head = text.slice(0, start);
  const tail = text.slice(end);
  const blankHead = /(^|\n)[ \t]*$/.exec(head);
  const blankTail = /^[ \t]*(\r?\n|$)/.exec(tail);
  if (!blankHead) return head + tail;
  if (blankTail) return head.slice(0, blankHead.index + blankHead[1]!.length) + tail.slice(blankTail[0].length);
  return head + tail.replace(/^[ \t]+/, "");
}

/** The text with a property set; a new one becomes the first, away from the comments of the others. */
export function setProperty(text: string, path: readonly string[], value: unknown): string {
  return applyEdits(
    text,
    modify(text, [...path], value, { formattingOptions: formatOf(text), getInsertionIndex: () => 0 }),
  );
}

/** The text with a value at the end of a list, which is made where it is missing. */
export function addToList(text: string, path: readonly string[], value: string): string {
  const options = { formattingOptions: formatOf(text), isArrayInsertion: true };
  return applyEdits(text, modify(text, [...path, -1], value, options));
}

/** The text without a value of a list. */
export function removeFromList(text: string, path: readonly string[], value: string): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const list = root && findNodeAtLocation(root, [...path]);
  return without(text, list?.children?.find((item) => item.value === value));
}

export function formatOf(text: string): FormattingOptions {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? "  ";
  const isTab = indent.startsWith("\t");
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  return { insertSpaces: !isTab, tabSize: isTab ? 4 : indent.length, eol, keepLines: true };
}
