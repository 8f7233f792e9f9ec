/**
 * A tool pattern of the configuration: `github:*`, `*:delete_*`, `slack:post_message`. Only `*` is special, so a
 * pattern can be matched in linear time whatever a user writes.
 */
export function matchesPattern(pattern: string, id: string): boolean {
  const parts = pattern.split("*");
  if (parts.length === 1) return pattern === id;
  const first = parts[0]!;
  const last = parts.at(-1)!;
  if (!id.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = id.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return id.length - last.length >= at && id.endsWith(last);
}
