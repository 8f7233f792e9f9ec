/** A server's progress notification as text: its message, else "3 of 10". A server may send anything. */
export function progressText({ progress, total, message }: Record<string, unknown>): string {
  if (typeof message === "string") return message;
  return [progress, total].filter((part) => typeof part === "number").join(" of ");
}
