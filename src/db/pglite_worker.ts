// Runs PGlite off the main thread: opening it there would stall every connection for half a second.
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { messageOf } from "../model/errors.ts";
import { unpackTemplate } from "./template.ts";

export type Request =
  | { id: number; op: "open"; dataDir: string; isNew: boolean; dump?: Uint8Array }
  | { id: number; op: "query"; sql: string; parameters: readonly unknown[] }
  | { id: number; op: "exec"; sql: string }
  | { id: number; op: "dump" }
  | { id: number; op: "close" };

export type Reply = { id: number; value?: unknown; error?: string };

// The default of 128 MB costs memory that a catalogue never uses.
const START = [...PGlite.defaultStartParams, "-c", "shared_buffers=8MB"];

/** Scores come by the thousand: the general reader of arrays would take longer than computing them. */
const PARSERS = {
  [1007]: (text: string) => Int32Array.from(listed(text), Number),
  [1021]: (text: string) => Float32Array.from(listed(text), Number),
};
const listed = (text: string) => text === "{}" ? [] : text.slice(1, -1).split(",");

let db: PGlite | undefined;

async function answer(request: Request): Promise<unknown> {
  if (request.op === "open") {
    if (request.isNew && !request.dump) await unpackTemplate(request.dataDir);
    const loadDataDir = request.dump &&
      new Blob([request.dump as Uint8Array<ArrayBuffer>], { type: "application/x-gzip" });
    db = await PGlite.create({
      dataDir: request.dataDir,
      extensions: { vector },
      startParams: START,
      parsers: PARSERS,
      ...loadDataDir && { loadDataDir },
    });
    await db.exec("create extension if not exists vector");
    return;
  }
  if (!db) throw new Error("the database is not open");
  switch (request.op) {
    case "query":
      return (await db.query(request.sql, [...request.parameters])).rows;
    case "exec":
      await db.exec(request.sql);
      return;
    case "dump":
      return new Uint8Array(await (await db.dumpDataDir("gzip")).arrayBuffer());
    case "close":
      await db.close();
      return;
  }
}

const port = self as unknown as {
  onmessage: (event: MessageEvent<Request>) => void;
  postMessage(reply: Reply): void;
};

port.onmessage = async ({ data }) => {
  try {
    port.postMessage({ id: data.id, value: await answer(data) });
  } catch (error) {
    port.postMessage({ id: data.id, error: messageOf(error) });
  }
};
