// Checks arguments against large foreign schemas; whoever asks ends this thread when an answer takes too long.
import type { JsonObject } from "../../model/mod.ts";
import { loadSchemaCheck } from "./check.ts";

/** The schema comes along once; later requests name it by its hash. */
export interface SchemaRequest {
  readonly id: number;
  readonly hash: string;
  readonly inputSchema?: JsonObject;
  readonly args: JsonObject;
}

export type SchemaReply = "ready" | { readonly id: number; readonly problems: string[] };

const port = self as unknown as {
  onmessage: (event: MessageEvent<SchemaRequest>) => void;
  postMessage(reply: SchemaReply): void;
};

const schemas = new Map<string, JsonObject>();
const check = await loadSchemaCheck();

port.onmessage = ({ data: { id, hash, inputSchema, args } }) => {
  if (inputSchema) schemas.set(hash, inputSchema);
  port.postMessage({ id, problems: check({ hash, inputSchema: schemas.get(hash)! }, args) });
};
port.postMessage("ready");
