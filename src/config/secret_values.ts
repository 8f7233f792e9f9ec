import { isObject } from "../model/mod.ts";
import { holdsWord } from "./words.ts";

/** A configured value that is taken out of everything that is shown or stored. */
export interface Secret {
  /** The variable, header, option or parameter that holds it. */
  readonly name: string;
  /** The part of the configuration where it stands, such as `servers.github.env`. */
  readonly place: string;
  readonly value: string;
}

/** The user's own word on what is a secret, by name. */
export interface SecretRules {
  readonly not: readonly string[];
  readonly also: readonly string[];
}

export const NO_SECRET_RULES: SecretRules = { not: [], also: [] };

/** A configured value with its name, in a place. */
export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

/** The names of values that are credentials, with `_` where a capital begins a word. */
const SECRET_NAME =
  /token(?!i[sz])|secret|passw|passphrase|pwd|api[_-]?key|auth(?!or)|credential|cookie|dsn|bearer|jwt|webhook|conn(?:ection)?[_-]?str|(?:^|[_.-])(?:keys?|pass|pat|sid|conn|connection)(?:$|[_.-])/i;
/** Names of facts about a credential: `TOKEN_LIMIT`, `AUTH_TYPE`, `SECRET_FILE`. */
const ABOUT =
  /^(?:max|min|num|total)[_-]|[_-](?:limits?|count|size|max|min|type|mode|method|enabled|file|path|dir|timeout|ttl|expiry|host|port|scheme|provider|name|id|url|uri|endpoint|region|alg|algorithm|scopes?|header|prefix|issuer|audience|domain)$/i;
const TRIVIAL = /^(?:true|false|yes|no|on|off|none|null|undefined|disabled|enabled|oauth2?|basic|bearer|\d{1,3})$/i;
const AUTHORIZATION = /^(?:proxy-)?authorization$/i;
const PATH =
  /^(?:~|\.{1,2}|[A-Za-z]:)[\\/]|^\/(?:home|Users|root|etc|usr|var|opt|run|tmp|mnt|srv|Library|Applications|data|app|work|workspace|nix)\//;
const IPV6 = /^\[?[\da-f]{0,4}(?::[\da-f]{0,4}){2,}(?:%\w+)?\]?$/i;
const URL_PARTS = /^(?:[a-z][\w+.-]*:)+\/\/(?:([^\s/?#]*)@)?[^\s/?#]*([^\s?#]*)(?:\?([^\s#]*))?(?:#(\S*))?$/i;
/** A password with a slash in it, which should have been escaped. */
const LOOSE_PASSWORD = /:\/\/[^:/?#\s]*:(?!\d+(?:\/|$))([^\s@]+)@/;
const PAIR = /(?:^|[;&\s])([A-Za-z_][\w.-]*)=("[^"]*"|'[^']*'|[^;&\s]*)/g;
const SHORTEST_RANDOM = 16;
const FEWEST_LETTERS = 3;
const DEEPEST = 4;

/** Whether a variable, header, flag or parameter of this name holds a credential. */
export function isSecretName(name: string): boolean {
  const words = name.replace(/([a-z])([A-Z])/g, "$1_$2");
  return SECRET_NAME.test(words) && !ABOUT.test(words);
}

/** Whether a value under such a name is worth hiding: switches and small numbers are not. */
export function isWorthHiding(value: string): boolean {
  return value.trim() !== "" && !TRIVIAL.test(value.trim());
}

/**
 * The secrets in one configured value: an Authorization value, the password of a URL, a value whose name says so, a value
 * that looks random. Of a URL, a connection string or a JSON text each part is looked at under its own name.
 */
export function secretsIn({ name, value }: NamedValue, place: string, rules = NO_SECRET_RULES): Secret[] {
  const isListed = (names: readonly string[]) => names.some((one) => one.toLowerCase() === name.toLowerCase());
  if (isListed(rules.not)) return [];
  const values = new Set(valuesIn({ name, value }, 0));
  if (isListed(rules.also)) values.add(value);
  return [...values].flatMap(withLines).filter((one) => one !== "").map((one) => ({ name, place, value: one }));
}

/** A value of several lines, and its long lines: what is told of a program's last words may begin in the middle of it. */
function withLines(value: string): string[] {
  const lines = value.split(/\r?\n/).filter((line) => line.length >= SHORTEST_RANDOM && !line.startsWith("-----"));
  return value.includes("\n") ? [value, ...lines] : [value];
}

function valuesIn({ name, value }: NamedValue, depth: number): string[] {
  if (AUTHORIZATION.test(name)) return authorizationValues(value);
  if (depth > DEEPEST || !isWorthHiding(value) || PATH.test(value)) return [];
  const parts = partsOf(value).flatMap((part) => valuesIn(part, depth + 1));
  if (URL_PARTS.test(value)) return [...urlValues(value), ...parts];
  const random = value.split(/\s+/).filter(looksRandom);
  return isSecretName(name) ? [value, ...schemed(value), ...parts] : [...random, ...parts];
}

/** The credential behind a scheme such as Bearer, and the password in one of Basic. */
function authorizationValues(value: string): string[] {
  const credential = /^\S+\s+(\S.*)$/s.exec(value)?.[1];
  const credentials = credential === undefined ? [] : [credential];
  if (credentials.length === 0) return [value];
  return [...credentials, ...credentials.flatMap(passwordOfBasic)];
}

function schemed(value: string): string[] {
  const credential = /^(?:Bearer|Basic|Token|ApiKey|Bot)\s+(\S+)$/i.exec(value)?.[1];
  return credential === undefined ? [] : [credential];
}

function passwordOfBasic(credential: string): string[] {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.fromBase64(credential));
    const password = /^[^:]*:(.+)$/s.exec(text)?.[1];
    return password === undefined ? [] : [password];
  } catch {
    return [];
  }
}

/** The userinfo of a URL, and the random parts of its path: the address of a webhook is its credential. */
function urlValues(url: string): string[] {
  const [, userinfo, path] = URL_PARTS.exec(url)!;
  const [, user, password] = /^([^:]*)(?::(.*))?$/s.exec(userinfo ?? "")!;
  const loose = userinfo === undefined ? LOOSE_PASSWORD.exec(url)?.[1] : undefined;
  const segments = (path ?? "").split("/").map(decoded).filter(looksRandom);
  return [decoded(password || user!), decoded(loose ?? ""), ...segments].filter((value) => value !== "");
}

/** Named values inside a value: parameters of a URL, pairs of a connection string, members of a JSON object. */
function partsOf(value: string): NamedValue[] {
  const [, , , query, fragment] = URL_PARTS.exec(value) ?? [];
  const isUrl = URL_PARTS.test(value);
  if (!isUrl && /^\s*\{/.test(value)) return membersOf(value);
  const text = isUrl ? [query, fragment].filter(Boolean).join("&") : value;
  return [...text.matchAll(PAIR)].map(([, name, quoted]) => ({
    name: name!,
    value: decodedIf(isUrl, quoted!.replace(/^(["'])(.*)\1$/s, "$2")),
  }));
}

function membersOf(json: string): NamedValue[] {
  try {
    const value: unknown = JSON.parse(json);
    if (!isObject(value)) return [];
    return Object.entries(value).flatMap(([name, member]) =>
      member === null || member === undefined
        ? []
        : [{ name, value: typeof member === "object" ? JSON.stringify(member) : String(member) }]
    );
  } catch {
    return [];
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const decodedIf = (isEncoded: boolean, text: string) => isEncoded ? decoded(text) : text;

/** Long, of letters and digits, and no words: a key, an identifier or a hash. */
function looksRandom(text: string): boolean {
  return text.length >= SHORTEST_RANDOM && /\d/.test(text) && text.replace(/[^A-Za-z]/g, "").length >= FEWEST_LETTERS &&
    !IPV6.test(text) && !PATH.test(text) && !URL_PARTS.test(text) && !holdsWord(text);
}

/** The arguments of a program as named values: `--name=value`, `--name value`, `NAME=value`, `Header: value`. */
export function namedArguments(args: readonly string[]): NamedValue[] {
  return args.map((arg, index) => {
    const [, name, value] = /^--?([A-Za-z][\w.-]*)=(.*)$/s.exec(arg) ?? /^([A-Za-z_][\w.-]*)=(.*)$/s.exec(arg) ??
      /^([A-Za-z][\w-]*):(?!\/\/|\\)\s*(\S.*)$/s.exec(arg) ?? [];
    if (name !== undefined && !URL_PARTS.test(arg)) return { name, value: value! };
    const before = /^--?([A-Za-z][\w.-]*)$/.exec(args[index - 1] ?? "")?.[1];
    return { name: before !== undefined && !arg.startsWith("-") ? before : `args[${index}]`, value: arg };
  });
}
