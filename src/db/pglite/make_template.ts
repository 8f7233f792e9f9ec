// Makes template.tar.br anew; run it after a change of the PGlite version: deno run -A src/db/pglite/make_template.ts
import { Command, fs, system } from "../../platform/start.ts";
import { brotliCompressSync, constants } from "node:zlib";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { TEMPLATE } from "./template.ts";

const folder = await fs.makeTempDir();
const db = await PGlite.create({ dataDir: folder, extensions: { vector } });
await db.exec("create extension vector; checkpoint");
await db.close();
const { stdout } = await new Command("tar", { args: ["-c", "-C", folder, "--sort=name", "."] }).output();
const packed = brotliCompressSync(stdout, {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
});
await fs.writeFile(TEMPLATE, packed);
await fs.remove(folder, { recursive: true });
system.exit(0);
