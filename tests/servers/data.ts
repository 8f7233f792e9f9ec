// A server over a git work tree and one over an SQLite file, as people have them: --git=FOLDER or --sqlite=FILE.
import { DatabaseSync } from "node:sqlite";
import { type Handler, initialize, type Message, serve, text } from "./wire.ts";

const option = (name: string) => Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
const folder = option("git");
const file = option("sqlite");

interface Tool {
  readonly description: string;
  readonly fields: readonly string[];
  readonly reads: boolean;
  run(given: Message): unknown;
}

async function git(...args: string[]): Promise<string> {
  const { stdout } = await new Deno.Command("git", { args: ["-C", folder!, ...args] }).output();
  return new TextDecoder().decode(stdout);
}

const TOOLS: Readonly<Record<string, Tool>> = folder
  ? {
    git_status: { description: "Shows the work tree status", fields: [], reads: true, run: () => git("status", "-s") },
    git_diff: { description: "Shows changes not yet committed", fields: [], reads: true, run: () => git("diff") },
  }
  : {
    list_tables: {
      description: "Lists the tables of the database",
      fields: [],
      reads: true,
      run: () => rows("select name from sqlite_master"),
    },
    read_query: {
      description: "Runs a select statement",
      fields: ["query"],
      reads: true,
      run: ({ query }) => rows(String(query)),
    },
    write_query: {
      description: "Runs an insert, update or delete statement",
      fields: ["query"],
      reads: false,
      run: ({ query }) => {
        const db = new DatabaseSync(file!);
        db.exec(String(query));
        db.close();
        return "written";
      },
    },
  };

function rows(query: string): string {
  const db = new DatabaseSync(file!);
  const found = db.prepare(query).all();
  db.close();
  return JSON.stringify(found);
}

const call: Handler = async ({ name, arguments: given = {} }) => {
  const tool = TOOLS[String(name)];
  return tool ? text(String(await tool.run(given as Message))) : text(`Unknown tool: ${name}`, { isError: true });
};

await serve({
  initialize: (params) => initialize(params, { tools: {} }),
  "tools/list": () => ({
    tools: Object.entries(TOOLS).map(([name, { description, fields, reads }]) => ({
      name,
      description,
      inputSchema: {
        type: "object",
        properties: Object.fromEntries(fields.map((field) => [field, { type: "string" }])),
        required: fields,
      },
      annotations: { readOnlyHint: reads },
    })),
  }),
  "tools/call": call,
});
