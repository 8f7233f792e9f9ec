import { retireUnused, type Session, toolsInMemory } from "../../call/mod.ts";
import { requireServer } from "../../config/mod.ts";
import { createBreather, toAgentCardsError, tokens, type Tool, type ToolNote } from "../../model/mod.ts";
import { lintDefinition, lintServerName } from "../../policy/mod.ts";
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

/** Stops a server in every session; each starts it anew with its next call. */
export const restart: Method<"restart"> = async ({ gateway, session }, { server }) => {
  const open = await session;
  requireServer(open.config, server);
  const stopped = new Set<unknown>();
  for (const one of gateway.sessions) if (one.isUsable) { for (const gone of one.renew(server)) stopped.add(gone); }
  for (const gone of retireUnused(open.shared, server)) stopped.add(gone);
  return { stopped: stopped.size };
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
    const flagged = await lint(session, name, tools);
    return { server: name, ok: true, tools: tools.length, tokens: tokens(size), ms: ms(), flagged };
  } catch (error) {
    const { code, message } = toAgentCardsError(error);
    const needs = code === "SIGN_IN_NEEDED" && { needs_sign_in: true as const };
    return { server: name, ok: false, tools: 0, tokens: 0, ms: ms(), error: message, ...needs };
  } finally {
    if (isOurs && !session.config.servers[name]?.shared) await server.stop();
  }
}

const MOST_FLAGGED = 50;

/** The tools of a server whose definitions have what no honest one contains. */
async function lint(session: Session, server: string, tools: readonly Tool[]): Promise<ToolNote[]> {
  const around = (await toolsInMemory(session)).filter((tool) => tool.server !== server);
  const servers = Object.keys(session.config.servers).filter((name) => name !== server);
  const others = { servers: new Set(servers), tools: new Set(around.map(({ name }) => name)) };
  const own = new Set(tools.map(({ name }) => name));
  const notes: ToolNote[] = lintServerName(server, servers).map(({ why }) => ({
    tool: "*",
    why: `the server's name: ${why}`,
  }));
  const breathe = createBreather();
  for (const tool of tools) {
    await breathe();
    for (const { where, why } of lintDefinition(tool, { own, others })) {
      notes.push({ tool: tool.name, why: `${where}: ${why}` });
    }
    if (notes.length >= MOST_FLAGGED) break;
  }
  return notes.slice(0, MOST_FLAGGED);
}
