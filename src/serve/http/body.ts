import { jsonDepth } from "../../model/mod.ts";
import { MAX_CLIENT_FRAME } from "../link/handshake.ts";
import { refusal } from "./guard.ts";

const MAX_DEPTH = 64;
/** The time that a body may take to come. */
const MOST_MS = 30_000;

/** The JSON in a request's body, read no further than it may be long; or the answer that says what is wrong with it. */
export async function readBody(request: Request): Promise<{ body: unknown } | { refused: Response }> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  let bytes: Uint8Array | undefined;
  try {
    bytes = announced > MAX_CLIENT_FRAME ? undefined : await readBytes(request);
  } catch {
    // Its sender left in the middle of it: nobody reads this.
    return { refused: refusal(400, "The body did not come to its end") };
  }
  if (!bytes) return { refused: refusal(413, `The body is larger than ${MAX_CLIENT_FRAME} bytes`) };
  if (jsonDepth(bytes, MAX_DEPTH) > MAX_DEPTH) {
    return { refused: refusal(400, `The body nests deeper than ${MAX_DEPTH}`) };
  }
  try {
    return { body: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) };
  } catch {
    const error = { code: -32700, message: "Parse error: the body is not JSON" };
    return { refused: Response.json({ jsonrpc: "2.0", id: null, error }, { status: 400 }) };
  }
}

async function readBytes(request: Request): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body?.getReader();
  const late = setTimeout(() => void reader?.cancel(new Error("too slow")).catch(() => {}), MOST_MS);
  try {
    for (let read = await reader?.read(); read && !read.done; read = await reader!.read()) {
      size += read.value.length;
      if (size > MAX_CLIENT_FRAME) return undefined;
      chunks.push(read.value);
    }
  } finally {
    clearTimeout(late);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
