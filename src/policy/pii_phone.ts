/**
 * How many digits follow each calling code, from the metadata of libphonenumber, without what no person has (service
 * numbers, machines). The package itself was measured and left out: 20 ms to load and 2 s for a megabyte.
 */
const NATIONAL_LENGTHS = new Map(
  Object.entries({
    "6-6": "247 298 299 672 687",
    "6-7": "597 688 690",
    "6-8": "386",
    "6-9": "252 352 355 376 421 508 681 689",
    "6-10": "358 685",
    "7-7": "238 239 246 248 269 291 297 501 592 673 674 676 677 678 679 680 683 691 692 960",
    "7-8": "241 507 599 670 675 853 961 965 975",
    "7-9": "46 220 231 245 265 354 359 385 423 967 968",
    "7-10": "53 95 230 243 254 263 267 353 372",
    "7-11": "49",
    "7-12": "43",
    "8-8": "45 47 65 216 222 223 226 227 228 232 235 236 253 257 266 350 356 357 370 371 373 374 383 389 502 503 504 " +
      "505 506 509 598 686 800 852 973 974 993",
    "8-9": "32 36 51 66 213 224 233 237 250 258 264 268 377 381 382 387 591 593 595 886 962 963 966 971 972",
    "8-10": "20 57 60 63 64 82 234 378 850 855 856 880 964 970 976 977",
    "8-11": "39",
    "8-12": "62",
    "9-9": "27 31 33 34 40 41 48 56 61 93 94 211 212 218 221 240 242 244 249 251 255 256 260 261 262 351 375 420 590 " +
      "594 596 992 994 995 998",
    "9-10": "44 81 84 92 380 996",
    "9-11": "86",
    "10-10": "1 7 30 52 58 90 91 98 225 229",
    "10-11": "54 55",
  }).flatMap(([range, codes]) => {
    const [least, most] = range.split("-").map(Number) as [number, number];
    return codes.split(" ").map((code) => [code, { least, most }] as const);
  }),
);

const anyOf = (...forms: readonly RegExp[]) => new RegExp(forms.map((form) => form.source).join("|"));

/** North America, Brazil, Russia, China: forms that say by themselves what they are. */
const NATIONAL = anyOf(
  /^(?:1[ .-]?)?\([2-9]\d\d\) ?[2-9]\d\d[ .-]\d{4}$/,
  /^(?:1[.-])?[2-9]\d\d(?:-[2-9]\d\d-|\.[2-9]\d\d\.)\d{4}$/,
  /^\([1-9]\d\) ?9?\d{4}-\d{4}$/,
  /^8[ -]\(?\d{3}\)?[ -]\d{3}-\d\d-\d\d$/,
  /^1[3-9]\d-\d{4}-\d{4}$/,
);

/** Most of the world dials 0 before the area: what follows is grouped in one of these ways. */
const WITH_ZERO = anyOf(
  /^0[1-9](?:(?: \d\d){4}|(?:\.\d\d){4}|(?:-\d\d){4})$/,
  /^0[1-9]\d?[ -]\d{4}[ -]\d{4}$/,
  /^0[1-9]\d\d?[ -]\d{3}[ -]\d{4}$/,
  /^0[1-9]\d\d[ -]\d{3}[ -]\d{3}$/,
  /^0[1-9]\d{3}[ -](?:\d{3}[ -]?\d{3}|\d{7})$/,
  /^0[6-9]\d{4}[ -]\d{5}$/,
  /^06 [1-9]\d \d{3} \d{4}$/,
  /^0[1-9][ \/-]\d{8}$/,
  /^0[1-9]\d[ \/-]\d{7,8}$/,
  /^0[1-9]\d\d[ \/-]\d{6,8}$/,
  /^0[1-9]\d?[ -]\d{3} \d{2,3} \d\d$/,
  /^0[1-9]\d\d[ -]\d\d \d\d \d\d$/,
  /^0[1-9]\d\d[ -]\d{3}[ -]\d\d[ -]\d\d$/,
  /^\(0[1-9]\d{0,3}\) ?\d{3,8}(?:[ -]\d{2,4}){0,3}$/,
);

/** 0033 6 12 34 56 78, but not 0032 2044 0033, which is a row of codes. */
const ABROAD = /^00 ?(?!\d\d(?: \d{4})+$)[1-9]\d{0,2}[ -][1-9]\d{0,8}(?:[ -]\d{1,9}){1,4}$/;

const DATE = /^\d{4}([-.\/])\d\d?\1\d\d?(?!\d)|^\d\d?([-.\/])\d\d?\2\d{4}(?!\d)|^(?:19|20)\d\d[01]\d[0-3]\d$/;
/** ISO 6709, degrees and minutes: +4612-05957. */
const COORDINATES = /^(?:\d{4}-\d{5}|\d{6}-\d{7})$/;
/** MMDD hhmmss, and numbers of papers: 02-2024-1234. */
const DATE_LIKE = /^(?:0\d|1[0-2])[0-3]\d[ \/-][0-2]\d[0-5]\d[0-5]\d$|^\d{2,3}[ -](?:19|20)\d\d[ -]\d{4}$/;
/** The forms of a number that is named as a phone number, and forms that are none even then: an address, a time. */
const ANY_NUMBER = /^\(?\d{1,5}\)?(?:[ .\/-]\(?\d{2,8}\)?){1,5}$|^\d{8,13}$/;
const NO_NUMBER = /^\d{1,3}(?:\.\d{1,3}){3}$|^1\d{9}$|^1[4-9]\d{11}$/;

const WORDS = "(?:tele|cell)?phones?|tel|tele?fono?|tele?foon|teléfono|téléphone|tél|fax|mobile|mobil|m[oó]vil|handy|" +
  "gsm|natel|portable|whats ?app|msisdn|sms|wa\\.me|телефон|тел|電話|电话|手机|携帯|전화";
/** phone, homePhone, phone_number, TEL;TYPE=HOME: and so on. Looks back from where it is asked. */
const LABEL = new RegExp(
  "(?<=(?:(?<![A-Za-z])(?:home|work|cell|mobile|office|contact|day)?|(?<=[a-z])(?=[A-Z]))" +
    `(?i:${WORDS})(?:[ _-]?(?i:number|nummer|n[uú]mero|num|no|nr))?` +
    "(?:[^\\p{L}\\p{N}\\0\\n]{0,8}|;[\\w=,;]{1,30}:|:\\n))",
  "uy",
);
/** Weaker: what follows must look the part. */
const CALL = /(?<=\b(?:call|dial|ring|text|reach)(?: (?:us|me|him|her|them))?(?: (?:at|on))?:? )/iy;
const CALL_SOMEONE = /(?<=\b(?:call|ring|text|reach) (?:us|me|him|her|them)(?: (?:at|on))?:? )/iy;

function endsWith(text: string, label: RegExp): boolean {
  label.lastIndex = text.length;
  return label.test(text);
}

/** The characters around digits. */
interface Surroundings {
  readonly plus: boolean;
  /** True if a word before the digits may name their kind. */
  readonly named: boolean;
  readonly before: () => string;
  readonly after: string;
}

/**
 * Whether digits are a phone number. Without a plus or a word before that says so, only a spelling that is used for
 * nothing else counts: unbroken digits and plain rows of figures never do.
 */
export function isPhone(spelt: string, { plus, named, before, after }: Surroundings): boolean {
  if (/^(?:(?!x\d|ext)[A-Za-z0-9_%@°€$£\u00c0-\u0dff]|:\d|,\d{3},)/i.test(after)) return false;
  if (plus) return isInternational(spelt) && !COORDINATES.test(spelt) && !/[A-Za-z0-9+\u00c0-\u0dff]$/.test(before());
  const known = NATIONAL.test(spelt);
  const likely = known || WITH_ZERO.test(spelt) || ABROAD.test(spelt) && isInternational(spelt.slice(2));
  const possible = likely || named && ANY_NUMBER.test(spelt) && !NO_NUMBER.test(spelt);
  if (!possible || DATE.test(spelt) || /^[-.\/][A-Za-z0-9]/.test(after)) return false;
  const ahead = before();
  if (named && endsWith(ahead, LABEL)) return true;
  if (/(?:[A-Za-z0-9_#$€£@%\/\\&+\u00c0-\u0dff-]|\d:|(?<!\p{L})\.)$/u.test(ahead)) return false;
  if (known || named && endsWith(ahead, CALL_SOMEONE)) return true;
  if (spelt.replace(/\D/g, "").length < 9) return false;
  if (named && /\d\D+\d/.test(spelt) && endsWith(ahead, CALL)) return true;
  return likely && !DATE_LIKE.test(spelt) && !isHexDump(spelt, ahead, after);
}

/** Pairs of digits that go on as hexadecimal on either side. */
function isHexDump(spelt: string, ahead: string, after: string): boolean {
  if (!/^\d\d(?: \d\d)+$/.test(spelt)) return false;
  return spelt.length > 14 || /^ [0-9a-f]{2}(?![0-9a-z])/i.test(after) ||
    /(?<![0-9a-z])(?:[0-9a-f]{2} [0-9a-f]{2}|\d[a-f]|[a-f]\d|Buffer) $/i.test(ahead);
}

function isInternational(spelt: string): boolean {
  // The 0 in brackets is dialled only inside the country: +44 (0)20 7946 0958.
  const dialled = spelt.replace("(0)", "").replace(/\D/g, "");
  for (const width of [1, 2, 3]) {
    const range = NATIONAL_LENGTHS.get(dialled.slice(0, width));
    if (!range) continue;
    const national = dialled.slice(width);
    if (width === 1 && dialled[0] === "1" && !/^[2-9]\d\d[2-9]/.test(national)) return false;
    return national.length >= range.least && national.length <= range.most && !/^(\d)\1+$/.test(national);
  }
  return false;
}
