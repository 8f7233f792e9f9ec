import { AgentCardsError, messageOf } from "../model/mod.ts";
import { slowness } from "./pattern_cost.ts";
import { findNumbers, type Found, type Page } from "./pii_numbers.ts";

export type { Found };

/** Something to hide that only the user knows of. */
export interface PiiPattern {
  readonly name: string;
  readonly regex: RegExp;
}

/**
 * A token, also after `encodeURIComponent`. It begins with a letter, so that `[phone:447911123456]` in a log is none;
 * anyone may write what looks like one, which is worth nothing: it is only left as it is.
 */
export const TOKEN =
  /(?:\[|%5[Bb])([a-z][a-z0-9_]{0,20})(?::|%3[Aa])([a-hjkmnp-tv-z][0-9a-hjkmnp-tv-z]{11})(?:\]|%5[Dd])/g;

const MOST_ROUNDS = 8;
/** The distance within which an earlier word names the kind of a number. */
const REACH = 64;

/** The time that configured patterns have taken. */
export interface Clock {
  ms: number;
}

/**
 * Where a text says something about a person: sorted, without overlaps. `context` is what stands before the text, such
 * as the name of the field it is the value of. Texts that share a clock share the time patterns may take.
 */
export function findPii(
  text: string,
  patterns: readonly PiiPattern[],
  context = "",
  clock: Clock = { ms: 0 },
): readonly Found[] {
  // Everything we know of ourselves has one of these (%40 is an at sign, too).
  if (patterns.length === 0 && !/[@\d]/.test(text)) return [];
  let seen = withoutEscapes(withoutTokens(text));
  const found: Found[] = [];
  let lines: readonly Line[] = [{ from: 0, to: text.length }];
  // What is found may have hidden its neighbour: "4111111111111111 415-555-2671" reads as one row of figures until
  // the first is gone. Looking again makes hiding twice the same as hiding once.
  for (let round = 0; round < MOST_ROUNDS && lines.length > 0; round++) {
    const page = {
      text: seen,
      before: (at: number) => at < REACH ? (context + seen.slice(0, at)).slice(-REACH) : seen.slice(at - REACH, at),
    };
    const more = withoutOverlaps(lines.flatMap(({ from, to }) => [
      ...findEmails(page, from, to),
      ...findNumbers(page, from, to),
      ...patterns.flatMap((pattern) => findPattern(seen.slice(from, to), pattern, clock, from)),
    ]));
    for (const one of more) found.push(one);
    lines = linesOf(seen, more);
    seen = blanked(seen, more);
  }
  return found.sort((a, b) => a.start - b.start);
}

interface Line {
  readonly from: number;
  readonly to: number;
}

/** The lines where something was found: what is gone from one changes nothing in the next. */
function linesOf(text: string, found: readonly Found[]): readonly Line[] {
  const lines: Line[] = [];
  for (const { start, end } of found) {
    if (start < (lines.at(-1)?.to ?? 0)) continue;
    const eol = text.indexOf("\n", end);
    lines.push({ from: text.lastIndexOf("\n", start) + 1, to: eol < 0 ? text.length : eol });
  }
  return lines;
}

function withoutOverlaps(found: Found[]): readonly Found[] {
  const kept: Found[] = [];
  for (const next of found.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = kept.at(-1);
    if (!last || next.start >= last.end) kept.push(next);
    else if (next.end - next.start > last.end - last.start) kept[kept.length - 1] = next;
  }
  return kept;
}

// What is not to be seen: the text keeps its length, so that places stay what they are.

const NOTHING = "\0";

const withoutTokens = (text: string) => text.replace(TOKEN, (token) => NOTHING.repeat(token.length));

/**
 * In JSON inside a string, `\njohn@example.com` is a line break and john; a token in the place of "njohn@…" would also
 * leave a lone backslash behind. Text that is no JSON loses at most the first letter to this.
 */
function withoutEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|[nrtbf"\/])/g, (escape, code?: string) => {
    if (!code) return escape.endsWith('"') ? '""' : escape.endsWith("/") ? "//" : "  ";
    const unit = String.fromCharCode(parseInt(code, 16));
    return (unit > "\x7f" && /\p{L}/u.test(unit) ? unit : " ").repeat(escape.length);
  });
}

function blanked(text: string, found: readonly Found[]): string {
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end } of found) {
    pieces.push(text.slice(from, start), NOTHING.repeat(end - start));
    from = end;
  }
  return pieces.join("") + text.slice(from);
}

// E-mail addresses

const AT = /@|%40/g;
const DOMAIN = /(?:[a-z0-9][a-z0-9-]{0,62}\.){1,10}(?:xn--[a-z0-9-]{1,59}|[a-z]{2,24})/iy;
const DOMAIN_IN_ANY_SCRIPT =
  /(?:[\p{L}\p{N}][\p{L}\p{N}\p{M}-]{0,62}\.){1,10}\p{L}[\p{L}\p{M}]{1,23}(?![\p{L}\p{N}])/uy;
const LONGEST_LOCAL = 64;

const NO_TOP_LEVEL_DOMAINS =
  ("png jpg jpeg gif svg webp avif ico bmp tif tiff pdf txt csv xml htm html css scss less js mjs cjs jsx ts tsx " +
    "json jsonc yml yaml toml lock log rb go cs vue svelte java kt swift php exe dll tgz gz tar zip po lst conf cfg " +
    "ini bak tmp patch sql header service socket timer target mount slice scope device path plt").replaceAll(" ", "|");
/** Versions, files, units of systemd, code: what stands after an at sign and is no host. */
const NO_HOST = new RegExp(
  `^(?:v?\\d+\\.[\\dx]|\\d(?:\\.\\d)?x\\.|self\\.|this\\.)|\\.(?:${NO_TOP_LEVEL_DOMAINS})$`,
  "i",
);
/** Accounts of machines, and calendars. */
const NOBODYS_HOST = /(?:^|\.)(?:gserviceaccount|(?:group|resource|import)(?:\.v)?\.calendar\.google)\.com$/i;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
/** Ids that look like addresses: of messages, of entries in a calendar. */
const ID_BEFORE = new RegExp(
  "(?:(?:message[-_]?id|ical_?uid)[\\s\"':=<[]{1,8}|(?:in-reply-to|references)[\\s\"':=[]{1,8}<)[^\\s\"'<>,;]*$" +
    "|(?:^|\\n)UID:$",
  "i",
);

/** Schemes in whose addresses the part before the at sign is an account of a machine. */
const NETWORK_SCHEME =
  /(?:^|[^a-z0-9+.-])(?:git|ssh|git\+ssh|svn|https?|wss?|s?ftps?|postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|mqtts?|nats|kafka|ldaps?|smb|nfs|rsync|docker|jdbc:[a-z]+|vnc|rdp|socks[45]?h?)$/i;

function findEmails(page: Page, from: number, to: number): readonly Found[] {
  const { text } = page;
  const found: Found[] = [];
  for (const { 0: sign, index } of text.slice(from, to).matchAll(AT)) {
    const at = from + index;
    const start = localStart(text, at);
    if (start === at) continue;
    const host = at + sign.length;
    const end = domainEnd(text, host);
    if (end && isSomeones(page, { start, at, host, end })) found.push({ kind: "email", start, end });
  }
  return found;
}

/** The start of the part before the at sign; the sign itself if there is none. */
function localStart(text: string, at: number): number {
  const isLocal = at > 0 && text[at - 1]! >= "\u0e00" ? /[\p{L}\p{N}]/u : LOCAL;
  let start = at;
  while (start > 0 && isLocal.test(text[start - 1]!)) {
    if (at - --start > LONGEST_LOCAL) return at;
  }
  while (start < at && /[.'+-]/.test(text[start]!)) start++;
  return start;
}

/** Scripts written without spaces begin at U+0E00: in 联系wang@example.cn only wang is the name. */
const LOCAL = /[A-Za-z0-9._+'-]|(?=[\x80-\u0dff])[\p{L}\p{N}\p{M}]/u;

function domainEnd(text: string, at: number): number {
  DOMAIN.lastIndex = at;
  if (DOMAIN.test(text) && !/[A-Za-z0-9_\u00c0-\u0dff]/.test(text[DOMAIN.lastIndex] ?? "")) return DOMAIN.lastIndex;
  DOMAIN_IN_ANY_SCRIPT.lastIndex = at;
  return DOMAIN_IN_ANY_SCRIPT.test(text) ? DOMAIN_IN_ANY_SCRIPT.lastIndex : 0;
}

interface Address {
  readonly start: number;
  readonly at: number;
  readonly host: number;
  readonly end: number;
}

function isSomeones({ text, before }: Page, { start, at, host, end }: Address): boolean {
  const name = text.slice(start, at);
  const domain = text.slice(host, end);
  if (name === "git" || UUID.test(name) || NO_HOST.test(domain) || NOBODYS_HOST.test(domain)) return false;
  // A second at sign: a name on Mastodon. A path after a colon: a file on a host, or a shell that waits.
  if (text[start - 1] === "@" || text[end] === "@") return false;
  if (text[end] === ":" && /^:(?:[~\/]|[\w.-]{1,64}\/)/.test(text.slice(end, end + 66))) return false;
  const ahead = before(start);
  const scheme = ahead.lastIndexOf("://");
  const isInAuthority = scheme >= 0 && /^[^\s\/?#"'<>]*$/.test(ahead.slice(scheme + 3));
  return !(isInAuthority && NETWORK_SCHEME.test(ahead.slice(0, scheme))) && !ID_BEFORE.test(ahead);
}

// Configured patterns

const NAME = /^[a-z][a-z0-9_]{0,20}$/;
const OWN_KINDS = ["email", "phone", "card", "iban"];
const LONGEST_SOURCE = 300;
const STEP = 128;
const MARGIN = 32;
const MOST_MS = 2000;

/** Reads the configuration's patterns (name to regular expression); the first that cannot be used is an error. */
export function readPatterns(given: Readonly<Record<string, string>>): readonly PiiPattern[] {
  return Object.entries(given).map(([name, source]) => {
    const problem = !NAME.test(name)
      ? "the name must be a to z, 0 to 9 and _, at most 21, with a letter first"
      : OWN_KINDS.includes(name)
      ? "the name is taken"
      : typeof source !== "string" || !source || source.length > LONGEST_SOURCE
      ? `it must be a text of 1 to ${LONGEST_SOURCE} characters`
      : slowness(source);
    if (problem) throw unusable(name, problem);
    try {
      return { name, regex: new RegExp(source, "gu") };
    } catch (cause) {
      throw unusable(name, messageOf(cause), cause);
    }
  });
}

function unusable(name: string, problem: string, cause?: unknown): AgentCardsError {
  return new AgentCardsError("CONFIG_INVALID", `Cannot use the PII pattern ${JSON.stringify(name)}: ${problem}`, {
    cause,
  });
}

/**
 * A line is read in steps of 128 characters, with 32 to see on the left and 160 on the right: what is longer than that
 * may be cut. So a pattern that takes the cube of a text's length stays bearable. One that does not is an error: to go
 * on without it would show what it is to hide.
 */
function findPattern(text: string, pattern: PiiPattern, clock: Clock, offset: number): readonly Found[] {
  const { name } = pattern;
  const regex = pattern.regex.global ? pattern.regex : new RegExp(pattern.regex, `${pattern.regex.flags}g`);
  const found: Found[] = [];
  const began = performance.now() - clock.ms;
  for (let line = 0, eol = 0; line < text.length; line = eol + 1) {
    eol = text.indexOf("\n", line);
    if (eol < 0) eol = text.length;
    for (let step = line; step < eol; step += STEP) {
      const left = Math.max(line, step - MARGIN);
      const seen = text.slice(left, Math.min(eol, step + 2 * STEP + MARGIN));
      regex.lastIndex = step - left;
      for (let match = regex.exec(seen); match; match = regex.exec(seen)) {
        const start = left + match.index;
        const end = start + match[0].length;
        if (start >= step + STEP) break;
        if (start === end) regex.lastIndex++;
        else if (start >= step && !match[0].includes(NOTHING)) {
          found.push({ kind: name, start: offset + start, end: offset + end });
        }
      }
      clock.ms = performance.now() - began;
      if (clock.ms > MOST_MS) throw unusable(name, `with it, reading a result took longer than ${MOST_MS} ms`);
    }
  }
  return found;
}
