// What an agent has to read before it can do anything: every server's tools, against ours.
import { dirname } from "node:path";
import { ownTokens } from "../../src/cli/init/command.ts";
import { isObject } from "../../src/model/json.ts";
import { tokens } from "../../src/model/text.ts";
import { AS_INSTALLED, createTestHome } from "../fixtures/gateway.ts";
import { readList } from "./index.ts";
import type { Evaluation } from "./main.ts";
import { ask } from "./startup.ts";

const WINDOW = 200_000;

/** A row of the servers' file: how to start one server. */
interface Row {
  readonly id: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface Measured {
  readonly tools: number;
  readonly tokens: number;
}

export const evaluation: Evaluation = {
  options: { servers: { type: "string" }, only: { type: "string" }, live: { type: "boolean" } },
  async run({ servers, only, live }) {
    if (!servers) throw new Error("--servers FILE is missing: a JSON list of {id, command, args, env}");
    const wanted = only?.split(",");
    const all = JSON.parse(await Deno.readTextFile(servers)) as Row[];
    const rows = all.filter(({ id }) => !wanted || wanted.includes(id));
    const { measured, failed } = live ? await fromServers(rows) : await fromFiles(rows, `${dirname(servers)}/tools`);
    const direct = measured.reduce((sum, { tokens }) => sum + tokens, 0);
    const ours = ownTokens();
    return {
      servers: measured.length,
      tools: measured.reduce((sum, { tools }) => sum + tools, 0),
      direct_tokens: direct,
      ours_tokens: ours,
      direct_share: share(direct),
      ours_share: share(ours),
      ...failed.length > 0 && { failed },
    };
  },
};

async function fromFiles(rows: readonly Row[], folder: string): Promise<{ measured: Measured[]; failed: string[] }> {
  const lists = await Promise.all(rows.map(({ id }) => readList(`${folder}/${id}.json`)));
  const measured = lists.map((list) => {
    const read = list.filter(isObject).map(({ name, description, inputSchema }) =>
      JSON.stringify({ name, description, inputSchema })
    );
    return { tools: list.length, tokens: tokens(read.join("").length) };
  });
  return { measured, failed: [] };
}

/** Starts each server once through the engine. */
async function fromServers(rows: readonly Row[]): Promise<{ measured: Measured[]; failed: string[] }> {
  const work = await Deno.makeTempDir({ prefix: "ac-work-" });
  const fill = (text: string) => text.replaceAll("{{WORK_DIR}}", work);
  const entries = rows.map(({ id, command, args, env = {} }) => {
    const filled = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)]));
    // The first start may have to install the package.
    return [id, { command, args: args.map(fill), env: filled, start_timeout: "5m" }];
  });
  try {
    await using home = await createTestHome({ servers: Object.fromEntries(entries) }, AS_INSTALLED);
    const reports = await ask(home, "index");
    const failed = reports.filter(({ ok }) => !ok).map(({ server, error }) => `${server}: ${error}`);
    return { measured: reports.filter(({ ok }) => ok), failed };
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

function share(count: number): number {
  return Math.round(count / WINDOW * 10_000) / 10_000;
}
