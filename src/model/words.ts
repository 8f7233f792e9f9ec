/** `createPullRequest`, `create_pull_request` and "create pull request" are the same three words. */
export function splitWords(text: string): string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/(?<=[A-Z])(?=[A-Z][a-z])/g, " ")
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}

/** The words of a text as they count for matching: without those that say nothing, each in its plain form. */
export function terms(text: string): string[] {
  return splitWords(text).map((word) => word.toLowerCase()).filter(isWord).map(stem);
}

/** A longer word is a key or a number, which two texts share by chance or never. */
const LONGEST = 29;

function isWord(word: string): boolean {
  return word.length <= LONGEST && !STOP_WORDS.has(word);
}

const STOP_WORDS = new Set(
  ("a an and are as at be by for from in into is it of on or that the this to with you your i me my we our can could " +
    "would please want need help show tell give").split(" "),
);

/** Plural, past and progressive forms fall together with the plain one; more would join words that differ. */
function stem(word: string): string {
  if (word.length < 4) return word;
  if (word.endsWith("ies") && word.length > 4) return word.slice(0, -3) + "y";
  let plain = word.replace(/sses$/, "ss");
  if (/[^s]s$/.test(plain)) plain = plain.slice(0, -1);
  if (plain.length > 5) plain = plain.replace(/(ing|ed)$/, "");
  return plain.length > 4 ? plain.replace(/e$/, "") : plain;
}
