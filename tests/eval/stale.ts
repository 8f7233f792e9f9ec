// Two reads that usually follow each other, and a change between them: the second one must see the change, whoever made
// it (a person, another server, a workflow, code), on a git work tree, on files and in an SQLite database.
import { DatabaseSync } from "node:sqlite";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, npmServer, sleep, testServer } from "../fixtures/gateway.ts";
import type { Evaluation } from "./main.ts";

interface Change {
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
  byHand(): void;
}

interface Store {
  readonly name: string;
  readonly first: readonly [string, Record<string, unknown>];
  readonly second: readonly [string, Record<string, unknown>];
  /** A change that makes `mark` show in the second read; the mark of an earlier change shows no more. */
  change(mark: string): Change;
}

const BY = ["hand", "server", "workflow", "code"] as const;
/** How often the two reads follow each other before anything is changed. */
const TAUGHT = 8;

export const evaluation: Evaluation = {
  options: { trials: { type: "string", default: "200" } },
  async run({ trials }) {
    await using home = await createTestHome((dir) => ({
      servers: {
        files: npmServer("filesystem", dir),
        editor: npmServer("filesystem", dir),
        git: testServer("data", `--git=${dir}/tree`),
        db: testServer("data", `--sqlite=${dir}/shop.db`),
        writer: testServer("data", `--sqlite=${dir}/shop.db`),
      },
    }));
    const stores = await prepare(home.dir);
    await using client = await connectClient(home);
    const read = async ([tool, args]: Store["first"]) => textOf(await client.use(tool, args));
    for (const { first, second } of stores) {
      for (let i = 0; i < TAUGHT; i++) {
        await read(first);
        await read(second);
        await sleep(40);
      }
    }
    const counts: Record<string, { trials: number; stale: number }> = {};
    for (let i = 0; i < Number(trials); i++) {
      const store = stores[i % stores.length]!;
      const by = BY[Math.floor(i / stores.length) % BY.length]!;
      const mark = `mark-${i}-${crypto.randomUUID().slice(0, 8)}`;
      await read(store.first);
      // Long enough for whatever is prepared after a read.
      await sleep(60);
      await make(client, by, store.change(mark));
      const count = counts[`${store.name}, changed by ${by}`] ??= { trials: 0, stale: 0 };
      count.trials++;
      if (!(await read(store.second)).includes(mark)) count.stale++;
    }
    const all = Object.values(counts);
    return {
      trials: all.reduce((sum, one) => sum + one.trials, 0),
      stale: all.reduce((sum, one) => sum + one.stale, 0),
      sources: counts,
    };
  },
};

async function prepare(dir: string): Promise<Store[]> {
  const [file, tracked, database] = [`${dir}/notes.txt`, `${dir}/tree/tracked.txt`, `${dir}/shop.db`];
  await Deno.mkdir(`${dir}/tree`);
  await Deno.writeTextFile(file, "first");
  await Deno.writeTextFile(tracked, "first\n");
  const who = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
  for (const args of [["init", "-q"], ["add", "."], [...who, "commit", "-qm", "first"]]) {
    const { success } = await new Deno.Command("git", { args, cwd: `${dir}/tree` }).output();
    if (!success) throw new Error(`git ${args[0]} failed`);
  }
  const sql = (query: string) => {
    const db = new DatabaseSync(database);
    db.exec(query);
    db.close();
  };
  sql("create table customer (name text); insert into customer values ('first')");
  const edit = (path: string) => (mark: string): Change => ({
    tool: "editor:write_file",
    arguments: { path, content: `${mark}\n` },
    byHand: () => Deno.writeTextFileSync(path, `${mark}\n`),
  });
  const update = (mark: string) => `update customer set name = '${mark}'`;
  return [
    { name: "git", first: ["git:git_status", {}], second: ["git:git_diff", {}], change: edit(tracked) },
    {
      name: "files",
      first: ["files:get_file_info", { path: file }],
      second: ["files:read_text_file", { path: file }],
      change: edit(file),
    },
    {
      name: "sqlite",
      first: ["db:list_tables", {}],
      second: ["db:read_query", { query: "select name from customer" }],
      change: (mark) => ({
        tool: "writer:write_query",
        arguments: { query: update(mark) },
        byHand: () => sql(update(mark)),
      }),
    },
  ];
}

async function make(client: RawClient, by: typeof BY[number], { tool, arguments: args, byHand }: Change) {
  if (by === "hand") return byHand();
  const result = by === "server"
    ? await client.use(tool, args)
    : by === "workflow"
    ? await client.call("run_workflow", { tasks: [{ id: "change", tool, arguments: args }] })
    : await client.call("execute_code", {
      code: `return await tools[${JSON.stringify(tool)}](context)`,
      context: args,
    });
  if (result.isError || (by === "workflow" && !textOf(result).includes('"completed"'))) throw new Error(textOf(result));
}
