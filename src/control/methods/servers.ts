import { type Session, toolsInMemory } from "../../call/mod.ts";
import { requireServer } from "../../config/mod.ts";
import { messageOf, tokens } from "../../model/mod.ts";
import type { Method } from "../context.ts";
import type { IndexReport } from "../reports.ts";

/** The time that a server may take when it is started for the first time ever. */
const FIRST_START_MS = 180_000;

/** Starts each server once, two at a time, reads its tools and stops it again. */
export const index: Method<"index"> = async ({ session, progress }, { servers: only }) => {
  const open = await session;
  open.startTimeoutMs = FIRST_START_MS;
  only?.forEach((name) => requireServer(open.config, name));
  const names = open.status().map(({ config }) => config).filter(({ disabled }) => !disabled).map(({ name }) => name)
    .filter((name) => only === undefined || only.includes(name));
  const reports: IndexReport[] = [];
  const queue = [...names];
  const work = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      const report = await indexOne(open, name);
      reports.push(report);
      progress({ done: reports.length, of: names.length, ...report });
    }
  };
  await Promise.all([work(), work()]);
  return reports;
};

/** Waits until every known tool can be found by what it means. */
export const embed: Method<"embed"> = async ({ session, progress }) => {
  const open = await session;
  const { search } = open.shared;
  const tools = await toolsInMemory(open);
  search.prepare(tools);
  search.warm();
  await search.settled((done, of) => progress({ done, of, download: search.status([]).download }));
  const { indexed, model, dimension } = search.status(tools);
  return { indexed, model, dimension };
};

async function indexOne(session: Session, name: string): Promise<IndexReport> {
  const began = performance.now();
  const server = session.server(name);
  const isOurs = server.status().state === "stopped";
  const ms = () => Math.round(performance.now() - began);
  try {
    const { tools } = await server.catalogue();
    const size = tools.reduce(
      (sum, { name, description, inputSchema }) => sum + JSON.stringify({ name, description, inputSchema }).length,
      0,
    );
    return { server: name, ok: true, tools: tools.length, tokens: tokens(size), ms: ms() };
  } catch (error) {
    return { server: name, ok: false, tools: 0, tokens: 0, ms: ms(), error: messageOf(error) };
  } finally {
    if (isOurs && !session.config.servers[name]?.shared) await server.stop();
  }
}
