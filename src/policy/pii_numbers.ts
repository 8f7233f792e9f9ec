import { isPhone } from "./pii_phone.ts";

/** A stretch of text that says something about a person. */
export interface Found {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/** Digits with single separators inside; `(415) 555-2671` is one chunk, spaces elsewhere begin the next. */
interface Chunk {
  readonly start: number;
  readonly end: number;
  readonly digits: number;
  /** Digits alone. */
  readonly pure: boolean;
}

const FEWEST_DIGITS = 7;
const MOST_DIGITS = 19;
const FEWEST_OF_A_CARD = 12;
/** A longer text is a table of numbers: only findings that need no context count in it. */
const MOST_CHUNKS = 12;

/** A text, and what stands just before a place in it: with the name of the field when the text is all of its value. */
export interface Page {
  readonly text: string;
  before(at: number): string;
}

/** An account number may begin, or enough digits are joined. Leaves out most of a text without a closer look. */
const CANDIDATE = /[A-Z]{2}\d\d|\d(?:[- .\/()\u00a0\u202f]{0,2}\d){6}/g;

/**
 * Phone, card and account numbers from one place to another. Digits are read once, from left to right, and a number is
 * judged with all that it is joined to: a piece of an id, a version or a row of figures is no number of its own.
 */
export function findNumbers(page: Page, from: number, to: number): readonly Found[] {
  const found: Found[] = [];
  const part = page.text.slice(from, to);
  CANDIDATE.lastIndex = 0;
  for (let match = CANDIDATE.exec(part); match; match = CANDIDATE.exec(part)) {
    const at = from + match.index;
    const isNumber = isDigit(part, match.index);
    const account = isNumber ? undefined : ibanEnd(page.text, at);
    if (account) found.push({ kind: "iban", start: at, end: account });
    CANDIDATE.lastIndex = (isNumber ? judgeRun(page, at, found) : account ?? at + 2) - from;
  }
  return found;
}

/** Judges all that is joined to a first digit, and tells where it ends. */
function judgeRun(page: Page, at: number, found: Found[]): number {
  const chunks = readRun(page.text, at);
  const widest = chunks.length > MOST_CHUNKS ? 1 : chunks.length;
  for (let first = 0; first < chunks.length; first++) {
    // Inside a row of plain numbers only one that is long enough for a card is looked at by itself.
    const inRow = first > 0 && chunks[first]!.pure && chunks[first - 1]!.pure;
    if (inRow && chunks[first]!.digits < FEWEST_OF_A_CARD) continue;
    const one = judgeFrom(page, chunks, first, Math.min(first + (inRow ? 1 : widest), chunks.length));
    if (!one) continue;
    found.push(one);
    while (first + 1 < chunks.length && chunks[first + 1]!.start < one.end) first++;
  }
  return chunks.at(-1)!.end;
}

function readRun(text: string, at: number): readonly Chunk[] {
  const chunks: Chunk[] = [];
  let inBrackets = opensGroup(text, at - 1);
  let start = inBrackets ? at - 1 : at;
  let pure = !inBrackets;
  let digits = 0;
  for (let end = at;;) {
    while (isDigit(text, end)) end++, digits++;
    const next = inBrackets ? end + 1 : end;
    const space = isSpace(text, next);
    const opens = opensGroup(text, next);
    const joined = opens || isTight(text, next) || inBrackets && space ? next + 1 : inBrackets ? next : -1;
    if (isDigit(text, joined)) {
      end = joined;
      pure = false;
      inBrackets = opens;
      continue;
    }
    chunks.push({ start, end, digits, pure });
    start = next + 1;
    inBrackets = opensGroup(text, start);
    end = inBrackets ? start + 1 : start;
    if (!space || !isDigit(text, end)) return chunks;
    pure = !inBrackets;
    digits = 0;
  }
}

/** The longest number that begins with a chunk. */
function judgeFrom(page: Page, chunks: readonly Chunk[], first: number, limit: number): Found | undefined {
  let last = first;
  let digits = chunks[first]!.digits;
  while (last + 1 < limit && digits + chunks[last + 1]!.digits <= MOST_DIGITS) digits += chunks[++last]!.digits;
  for (; last >= first && digits >= FEWEST_DIGITS && digits <= MOST_DIGITS; digits -= chunks[last--]!.digits) {
    const { start } = chunks[first]!;
    const next = last + 1 < chunks.length ? chunks[last + 1]! : undefined;
    // A plain number that follows may belong to the same row of figures.
    const goesOn = last > first && next?.pure;
    const found = judge(page, start, chunks[last]!.end, digits, goesOn ? next.digits : 0);
    if (found) return found;
  }
  return undefined;
}

function judge(page: Page, start: number, end: number, digits: number, digitsAfter: number): Found | undefined {
  const { text } = page;
  const plus = lengthOfPlus(text, start);
  // Three digits after a card are its code.
  if (
    digits >= FEWEST_OF_A_CARD && !plus && (digitsAfter === 0 || digitsAfter === 3) && standsAlone(text, start, end)
  ) {
    if (isCard(spelling(text, start, end), () => page.before(start))) return { kind: "card", start, end };
  }
  if (digits > 15 || digitsAfter && !plus) return undefined;
  const named = !plus && mayBeNamed(page, start);
  if (!plus && !named && (digits < 9 || end - start === digits)) return undefined;
  const from = start - plus;
  const around = { plus: plus > 0, named, before: () => page.before(from), after: text.slice(end, end + 8) };
  return isPhone(spelling(text, start, end), around) ? { kind: "phone", start: from, end } : undefined;
}

/** `+`, or as it looks in a URL. */
function lengthOfPlus(text: string, start: number): number {
  const code = codeAt(text, start - 1);
  if (code === PLUS) return 1;
  return (code | 0x20) === 0x62 && /%2b$/i.test(text.slice(Math.max(0, start - 3), start)) ? 3 : 0;
}

const spelling = (text: string, start: number, end: number) => text.slice(start, end).replace(/[\u00a0\u202f]/g, " ");

/** True if letters come shortly before: numbers in a row have none and need no further check. */
function mayBeNamed({ text, before }: Page, start: number): boolean {
  for (let i = start - 1; i >= start - 9; i--) {
    if (i < 0) return before(start).length > start;
    if (isDigit(text, i)) return false;
    if (isLetter(text, i)) return true;
  }
  return false;
}

// Cards

const CARD_FORMS =
  /^(?:\d{12,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|\d{4}([ -])\d{6}\2\d{4,5}|\d{4}([ -])\d{4}\3\d{4}\3\d\d)$/;
const VISA = /^4/;
/** Mastercard, Discover, UnionPay, JCB. */
const OTHERS = /^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720|6011|64[4-9]|65|62|352[89]|35[3-8])/;
const MAESTRO = /^(?:5018|5020|5038|5893|6304|6759|676[123])/;
const AMEX = /^3[47]/;
const DINERS = /^3(?:0[0-5]|[68])/;
/** Said to be a card: then every number that passes the check is one. */
const CARD_LABEL =
  /(?:card|carte|karte|tarjeta|kaart|\b(?:cc|pan))\P{L}{0,3}(?:n(?:umber|um|o|r)s?)?(?: is)?[^\p{L}\p{N}\n]{0,6}$/iu;
/** One number in ten passes the Luhn check by chance; ids have as many digits and are far more common. */
const ID_LABEL = new RegExp(
  "(?:(?<![A-Za-z])(?i:ids?|ts|time|timestamp|at|key|hash|ref)|(?<=[a-z])(?:Ids?|ID|Time|At|Key|Hash|Ref)|#)" +
    "[^\\p{L}\\p{N}]{0,6}$",
  "u",
);

function isCard(spelt: string, before: () => string): boolean {
  const digits = spelt.replace(/\D/g, "");
  if (!CARD_FORMS.test(spelt) || !passesLuhn(digits)) return false;
  const ahead = before();
  if (CARD_LABEL.test(ahead)) return true;
  const length = digits.length;
  const isIssued = AMEX.test(digits)
    ? length === 15
    : DINERS.test(digits)
    ? length === 14
    : OTHERS.test(digits) || MAESTRO.test(digits)
    ? length >= 16
    : VISA.test(digits) && (length === 16 || length === 19);
  if (!isIssued) return false;
  return spelt.length > length ? !isRowOfFigures(spelt, ahead) : length <= 16 && !ID_LABEL.test(ahead);
}

/** 5414 5415 5416 5417, or a part of 826C 4577 8631 8638. */
function isRowOfFigures(spelt: string, before: string): boolean {
  return /^(\d\d)\d\d(?: \1\d\d){3}$/.test(spelt) && !/^(\d{4})(?: \1){3}$/.test(spelt) ||
    /(?:^|\s)(?=[a-f]*\d)[0-9a-f]{4,5} $/i.test(before);
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    sum += i % 2 ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit;
  }
  return sum % 10 === 0;
}

/** Not a piece of a word, a path, a fraction or an amount. */
function standsAlone(text: string, start: number, end: number): boolean {
  return !/[A-Za-z0-9_.\/\\#$€£@%+\u00c0-\u0dff-]/.test(text[start - 1] ?? "") &&
    !/^(?:[A-Za-z0-9_@%\u00c0-\u0dff]|[-.\/][A-Za-z0-9])/.test(text.slice(end, end + 3));
}

// Accounts

const IBAN_LENGTHS = new Map(
  ("AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 " +
    "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 " +
    "LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 " +
    "QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30")
    .split(" ").map((entry) => [entry.slice(0, 2), Number(entry.slice(2))] as const),
);

/** The end of the IBAN that begins here, in one piece or in groups of four; undefined if there is none. */
function ibanEnd(text: string, start: number): number | undefined {
  const length = IBAN_LENGTHS.get(text.slice(start, start + 2));
  if (!length || isWordCharacter(text, start - 1)) return undefined;
  const gap = text[start + 4] ?? "";
  const inFours = gap === "-" || isSpace(text, start + 4);
  let value = "";
  let end = start;
  while (value.length < length) {
    if (inFours && value.length % 4 === 0 && value) {
      if (text[end] !== gap) return undefined;
      end++;
    }
    const unit = text[end++] ?? "";
    if (!/[A-Z0-9]/.test(unit)) return undefined;
    value += unit;
  }
  if (isWordCharacter(text, end) || !/^..\d\d/.test(value)) return undefined;
  let rest = 0;
  for (const unit of value.slice(4) + value.slice(0, 4)) {
    const number = parseInt(unit, 36);
    rest = (rest * (number > 9 ? 100 : 10) + number) % 97;
  }
  return rest === 1 ? end : undefined;
}

// Characters

/** The first code point of the scripts that put no space between a word and a number. */
const WITHOUT_SPACES = 0x0e00;
const PLUS = 0x2b;
const OPENS = 0x28;
const CLOSES = 0x29;
const SPACES = [0x20, 0xa0, 0x202f];
const TIGHT = [0x2d, 0x2e, 0x2f];

/** 0 outside the text: NaN, as charCodeAt gives it, makes everything that touches it several times slower. */
function codeAt(text: string, at: number): number {
  return at >= 0 && at < text.length ? text.charCodeAt(at) : 0;
}

function isDigit(text: string, at: number): boolean {
  const code = codeAt(text, at);
  return code >= 0x30 && code <= 0x39;
}

function isLetter(text: string, at: number): boolean {
  const code = codeAt(text, at);
  return code >= 0x41 && code <= 0x5a || code >= 0x61 && code <= 0x7a || code >= 0xc0;
}

function isWordCharacter(text: string, at: number): boolean {
  return isDigit(text, at) || isLetter(text, at) && codeAt(text, at) < WITHOUT_SPACES || text[at] === "_";
}

const isTight = (text: string, at: number) => TIGHT.includes(codeAt(text, at));
const isSpace = (text: string, at: number) => SPACES.includes(codeAt(text, at));

/** True if a bracket here encloses a few digits and nothing else. */
function opensGroup(text: string, at: number): boolean {
  if (codeAt(text, at) !== OPENS) return false;
  let end = at + 1;
  while (end < at + 7 && isDigit(text, end)) end++;
  return end > at + 1 && codeAt(text, end) === CLOSES;
}
