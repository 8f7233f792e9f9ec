// The copy of figures to a PostgreSQL that is away half of the time, by an engine that is killed again and again: each
// answered call has one row.
import postgres from "postgres";
import { readRows } from "../../src/policy/mod.ts";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, endProcess, sleep, testServer, until } from "../fixtures/gateway.ts";
import { type SwitchedPostgres, switchedPostgres } from "../fixtures/postgres_server.ts";
import type { Evaluation } from "./main.ts";

const AT_ONCE = 32;
const PHASE_MS = 5_000;
const LAST_ROWS_MS = 120_000;

export const evaluation: Evaluation = {
  options: { rows: { type: "string", default: "100000" }, kills: { type: "string", default: "10" } },
  async run({ rows, kills }) {
    const [wanted, kill] = [Number(rows), Number(kills)];
    await using server = await switchedPostgres();
    await using home = await createTestHome({
      servers: { kit: { ...testServer("kit"), shared: true } },
      policy: { effects: { "kit:*": "read" } },
      audit: { content: "full" },
      analytics: { postgres: server.url, every: "500ms" },
    });
    await using client = await connectClient(home);
    const began = performance.now();
    const switching = switchOnAndOff(server);
    const acknowledged: number[] = [];
    let next = 0;
    let killed = 0;
    const work = Array.from({ length: AT_ONCE }, async () => {
      while (next < wanted) {
        const number = next++;
        const isDue = killed < kill && number >= (killed + 1) * wanted / (kill + 1);
        if (isDue) {
          killed++;
          const pid = await home.enginePid();
          if (pid !== undefined) await endProcess(pid, "SIGKILL");
        }
        const result = await client.use("kit:echo", { text: `call-${number}.` }).catch(() => undefined);
        if (result && result.isError !== true) acknowledged.push(number);
        else await sleep(50);
      }
    });
    await Promise.all(work);
    const away = await switching.end();
    const calledMs = performance.now() - began;
    return { ...await compared(home.dir, server, acknowledged), killed, away, seconds: Math.round(calledMs / 1_000) };
  },
};

/** Stops and starts the server in turns; tells the share of the time that it was away. */
function switchOnAndOff({ start, stop }: SwitchedPostgres) {
  let isOver = false;
  let awayMs = 0;
  const began = performance.now();
  const work = (async () => {
    while (!isOver) {
      await sleep(PHASE_MS);
      await stop();
      const from = performance.now();
      await sleep(PHASE_MS);
      await start();
      awayMs += performance.now() - from;
    }
  })();
  return {
    async end() {
      isOver = true;
      await work;
      return Math.round(100 * awayMs / (performance.now() - began)) / 100;
    },
  };
}

/** The rows of the database against those of the audit, and against the calls that were answered. */
async function compared(dir: string, { url }: SwitchedPostgres, acknowledged: readonly number[]) {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    const recorded = [...readRows(`${dir}/audit`)].filter(({ kind }) => kind === "call");
    const count = async () => (await sql`select count(*)::int as n from metrics_calls`)[0]!.n as number;
    await until("the last rows", async () => await count() >= recorded.length, LAST_ROWS_MS).catch(() => {});
    const found = (await sql`select engine, seq from metrics_calls`).map(({ engine, seq }) => `${engine} ${seq}`);
    const copied = new Set(found.map((key) => Number(key.split(" ")[1])));
    const numbers = new Set(recorded.map(({ values }) => Number(/call-(\d+)\./.exec(String(values))?.[1])));
    const [tokens] = await sql`select count(*)::int as n from metrics_tokens`;
    return {
      answered: acknowledged.length,
      rows: found.length,
      token_rows: tokens!.n as number,
      lost: recorded.filter(({ seq }) => !copied.has(seq)).length + acknowledged.filter((n) => !numbers.has(n)).length,
      twice: found.length - copied.size,
    };
  } finally {
    await sql.end({ timeout: 1 });
  }
}
