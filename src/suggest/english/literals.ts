/** Something in a request that is meant to the letter: a path, a quoted text, a number. */
export interface Literal {
  readonly kind:
    | "quoted"
    | "json"
    | "sql"
    | "url"
    | "email"
    | "datetime"
    | "date"
    | "time"
    | "range"
    | "size"
    | "path"
    | "file"
    | "slashed"
    | "pair"
    | "number"
    | "code";
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** The last word of a list such as "a.txt, b.txt and c.txt" belongs with the ones before it. */
  readonly list?: readonly string[];
}

/** In the order they are looked for: what was found is not looked at again. A group is the literal itself. */
const KINDS: readonly (readonly [Literal["kind"], RegExp])[] = [
  ["quoted", /"([^"\n]{1,4000})"|“([^”\n]{1,4000})”|`([^`\n]{1,4000})`/g],
  [
    "sql",
    /\b((?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|EXPLAIN|PRAGMA)\s[\s\S]*?)(?=\s+(?:from|in|on|against|using|for|with|to)\s+(?:the|my|our|this|that)\b|[.;](?:\s|$)|,?\s+(?:and|then|please)\s|$)/g,
  ],
  ["quoted", /(?<![\p{L}\p{N}])'([^'\n]{1,1000})'(?![\p{L}\p{N}])/gu],
  ["url", /\b[a-z][a-z0-9+]*:\/\/[^\s"'<>`]*[^\s"'<>`.,;:!?)]|\bgit@[\w.-]+:[\w./-]*\w/g],
  ["email", /\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b/g],
  ["datetime", /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?/g],
  ["date", /\b\d{4}-\d\d-\d\d\b/g],
  ["time", /\b\d?\d:\d\d(?::\d\d)?\b(?!\w)/g],
  ["range", /\b[A-Z]{1,3}\d+:[A-Z]{1,3}\d+\b/g],
  ["size", /\b\d{2,5}\s?(?:x|×|by)\s?\d{2,5}\b/g],
  ["pair", /\b[\w./-]+=[\w./-]*\w/g],
  ["path", /(?<![\w:/.])(?:~|\.{1,2})?\/[\w.@%+-]+(?:\/[\w.@%+-]+)*\/?(?<![.,])/g],
  ["file", /\b[\w-]+(?:[./][\w-]+)*\.[a-z][a-z0-9]{1,4}\b(?![./(@])/g],
  ["slashed", /(?<![\w/.-])[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*(?<![.,])(?![\w/])/g],
  ["code", /(?<!\w):[a-z][\w+-]*:(?!\w)|(?<!\w)[#.][A-Za-z][\w-]*/g],
  ["code", /(?<!\w)\+\d{7,15}\b/g],
  ["number", /(?<![\w.:/-])-?\d+(?:\.\d+)?(?![\w.]*[A-Za-z_])(?![:/]\d)\b/g],
  [
    "code",
    /(?<![\w/.-])(?=[\w.:-]*[A-Za-z])(?=[\w.:-]*\d)[A-Za-z0-9][\w.:-]*\w\b|\b[a-z]+[A-Z]\w*\b|\b\w+_\w+\b|\b\w[\w-]*(?:[.:]\w+)+\b/g,
  ],
];

const SQL = /^(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|EXPLAIN|PRAGMA)\s/;
const OPENERS = new Map([["{", "}"], ["[", "]"]]);
const JOINED = /^(?:\s*,\s*(?:and\s+|or\s+)?|\s+and\s+|\s*&\s*|\s+plus\s+(?:the\s+)?)$/;

/** More than this is no request that somebody wrote, and would take its time. */
const MOST_LITERALS = 100;
const MOST_OF_A_LIST = 200;
const MOST_TRIES = 200;

/** Everything in a request that can be taken to the letter, in its order; lists of a kind are one, with all that is in them. */
export function literalsIn(request: string): Literal[] {
  const found: Literal[] = jsonIn(request);
  for (const [kind, pattern] of KINDS) {
    for (const match of request.matchAll(pattern)) {
      const text = match.slice(1).find((group) => group !== undefined) ?? match[0];
      const [start, end] = [match.index, match.index + match[0].length];
      if (text.trim() === "" || found.some((other) => other.start < end && start < other.end)) continue;
      found.push({ kind: kind === "quoted" && SQL.test(text) ? "sql" : kind, text, start, end });
    }
  }
  return joined(found.sort((a, b) => a.start - b.start), request).slice(0, MOST_LITERALS);
}

/** JSON that stands in a request as it is. */
function jsonIn(request: string): Literal[] {
  const found: Literal[] = [];
  let tries = 0;
  for (let at = 0; at < request.length && tries < MOST_TRIES; at++) {
    const closer = OPENERS.get(request[at]!);
    if (!closer) continue;
    for (
      let end = request.indexOf(closer, at);
      end >= 0 && tries++ < MOST_TRIES;
      end = request.indexOf(closer, end + 1)
    ) {
      const text = request.slice(at, end + 1);
      if (!isJson(text)) continue;
      found.push({ kind: "json", text, start: at, end: end + 1 });
      at = end;
      break;
    }
  }
  return found;
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

/** Literals of one kind with nothing between them but commas and "and". */
function joined(found: readonly Literal[], request: string): Literal[] {
  const lists: Literal[] = [];
  for (const literal of found) {
    const last = lists.at(-1);
    const isNext = last !== undefined && last.kind === literal.kind &&
      JOINED.test(request.slice(last.end, literal.start));
    if (!isNext || (last.list?.length ?? 0) >= MOST_OF_A_LIST) lists.push(literal);
    else {
      const list = [...last.list ?? [last.text], literal.text];
      lists[lists.length - 1] = { ...last, end: literal.end, list };
    }
  }
  return lists;
}
