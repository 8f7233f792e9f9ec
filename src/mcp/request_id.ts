/** The id of one of our own requests that an answer names at its top level, read from bytes that are not parsed. */
export function requestIdIn(line: Uint8Array): string | undefined {
  let depth = 0;
  for (let i = 0; i < line.length; i++) {
    const byte = line[i]!;
    if (byte === QUOTE) {
      const end = stringEnd(line, i);
      const found = depth === 1 ? ID.exec(decoder.decode(line.subarray(i, i + LOOKED_AT))) : null;
      if (found) return found[1];
      i = end;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
  }
  return undefined;
}

function stringEnd(line: Uint8Array, start: number): number {
  let i = start + 1;
  while (i < line.length && line[i] !== QUOTE) i += line[i] === BACKSLASH ? 2 : 1;
  return i;
}

const ID = /^"id"\s*:\s*"(ac-\d{1,15})"/;
const LOOKED_AT = 64;
const decoder = new TextDecoder();
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
