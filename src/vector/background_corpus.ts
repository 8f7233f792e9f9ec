import { fs } from "../platform/start.ts";
import { phraseText, type ToolText } from "./tool_text.ts";

let reading: Promise<readonly ToolText[]> | undefined;

/** Descriptions of common tools, as a background; see the head of `world.txt`. */
export function readWorld(): Promise<readonly ToolText[]> {
  return reading ??= fs.readTextFile(new URL("./world.txt", import.meta.url)).then((text) =>
    text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map(phraseText)
  );
}
