/** The names of other servers and of their tools. */
export interface Names {
  readonly servers: ReadonlySet<string>;
  readonly tools: ReadonlySet<string>;
}

/** Letters of other scripts, and digits, that look like a Latin letter. */
const LOOKS_LIKE: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "l",
  "|": "l",
  "i": "l",
  "а": "a",
  "в": "b",
  "е": "e",
  "ё": "e",
  "һ": "h",
  "і": "l",
  "ї": "l",
  "ј": "j",
  "к": "k",
  "ӏ": "l",
  "м": "m",
  "н": "h",
  "о": "o",
  "р": "p",
  "с": "c",
  "ѕ": "s",
  "т": "t",
  "у": "y",
  "ү": "y",
  "һ̱": "h",
  "ӻ": "f",
  "х": "x",
  "ԁ": "d",
  "ԛ": "q",
  "ԝ": "w",
  "ɡ": "g",
  "α": "a",
  "ε": "e",
  "ι": "l",
  "κ": "k",
  "ν": "v",
  "ο": "o",
  "ρ": "p",
  "τ": "t",
  "υ": "u",
  "χ": "x",
};

/** A name as an eye takes it: compatible forms joined, look-alike letters made one, separators left out. */
function skeleton(name: string): string {
  const plain = name.normalize("NFKC").toLowerCase().replace(/[\s_.-]/g, "");
  return [...plain].map((letter) => LOOKS_LIKE[letter] ?? letter).join("").replaceAll("rn", "m").replaceAll("vv", "w");
}

const SCRIPTS = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Cherokee}/u];

/** The reason if a name mixes alphabets in one word, or is written in full-width or other compatible letters. */
export function mixedScripts(name: string): string | undefined {
  for (const word of name.split(/[^\p{L}\p{M}]+/u)) {
    if (SCRIPTS.filter((script) => script.test(word)).length > 1) return `"${word}" mixes letters of two alphabets`;
  }
  if (/[\p{Script=Latin}\p{Nl}]/u.test(name) && name.normalize("NFKC") !== name.normalize("NFC")) {
    return "it is written in letters that only look like the usual ones";
  }
}

/** The reason if a name looks like one of another server's without being it. */
export function imitation(name: string, others: ReadonlySet<string>, own: ReadonlySet<string>): string | undefined {
  if (others.has(name) || own.size > 0 && !own.has(name)) return undefined;
  const seen = skeleton(name);
  const plain = (text: string) => text.toLowerCase().replace(/[\s_.-]/g, "");
  for (const other of others) {
    // Another spelling of the same letters, such as readFile for read_file, imitates nothing.
    if (other !== name && skeleton(other) === seen && plain(other) !== plain(name)) return `it looks like "${other}"`;
  }
}
