import { isObject } from "../../model/mod.ts";
import type { Codec } from "./form.ts";

/** The revisions with a handshake, up to 2025-11-25. */
export const LEGACY: Codec = {
  capabilities: (_meta, { capabilities }) => capabilities,
  // A client hears of everything that it has not refused; a stateless server wants to be told so.
  logLevel: (_meta, { logLevel }) => logLevel ?? "info",
  takesQuestions: false,
  // Older clients refuse the whole response if its structured content is no object.
  result(result) {
    const { structuredContent } = result;
    if (structuredContent === undefined || isObject(structuredContent)) return result;
    return { ...result, structuredContent: { result: structuredContent } };
  },
  error: ({ code, message, data }) => ({ code, message, ...data !== undefined && { data } }),
  resultHead: "{",
};
