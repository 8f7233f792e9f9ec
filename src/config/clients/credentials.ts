export { isSecretName, isWorthHiding } from "../secret_values.ts";

/** Tokens of well-known services, wherever they stand in a text. */
const SHAPES = [
  /\bgh[opsur]_[A-Za-z0-9]{16,}/,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/,
  /\bglpat-[A-Za-z0-9_-]{16,}/,
  /\b[sr]k[-_](?:live|test|proj|ant|or)?[-_]?[A-Za-z0-9_-]{16,}/,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,}/,
  /\bxapp-[A-Za-z0-9-]{10,}/,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
  /\bAIza[0-9A-Za-z_-]{30,}/,
  /\bya29\.[0-9A-Za-z_-]{20,}/,
  /\bnpm_[A-Za-z0-9]{30,}/,
  /\bpypi-[A-Za-z0-9_-]{30,}/,
  /\bhf_[A-Za-z0-9]{20,}/,
  /\b(?:ntn|secret|lin_api|dop_v1|whsec|shpat|figd|gsk|r8|sbp|tvly|pplx|fc|BSA|sntrys|sntryu|phc|phx)[-_][A-Za-z0-9_-]{16,}/,
  /\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*/,
] as const;

/** One expression for all shapes. */
export const TOKEN = new RegExp(SHAPES.map(({ source }) => source).join("|"), "g");
/** `Bearer …` and its relatives: the scheme, then the credential. */
export const SCHEME = /\b(Bearer|Basic|Token|ApiKey)(\s+)([A-Za-z0-9._~+/=:-]{6,})/gi;

/** Long text without words in it, such as a random key. */
export function looksRandom(text: string): boolean {
  if (!/^[A-Za-z0-9+/=_-]{20,512}$/.test(text) || /^\/.*\//.test(text)) return false;
  if (/^[0-9a-f]{32,}$/i.test(text)) return /[0-9]/.test(text) && /[a-f]/i.test(text);
  const run = text.split(/[-_/]/).reduce((longest, part) => part.length > longest.length ? part : longest, "");
  const isMixed = /[0-9]/.test(run) && /[a-z]/.test(run) && /[A-Z]/.test(run);
  return run.length >= 16 && isMixed && entropy(run) >= 3.3;
}

/** Bits per character. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  return [...counts.values()].reduce((sum, n) => sum - (n / text.length) * Math.log2(n / text.length), 0);
}

/** An id more often than a credential, except in a URL. */
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
