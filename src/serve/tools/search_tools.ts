import {
  findTools,
  type Found,
  helpFor,
  knownTools,
  listServers,
  mayBeCalled,
  ownTools,
  parseInput,
  reviewNote,
  serverMeant,
  textResult,
  withheldNote,
} from "../../call/mod.ts";
import {
  createBreather,
  cut,
  declarations,
  declaredMethod,
  oneLine,
  sanitise,
  signature,
  tokens,
  type Tool,
} from "../../model/mod.ts";
import { missingOf } from "../../vector/mod.ts";
import type { WorkSession } from "../../workflow/mod.ts";
import { z } from "../../../deps.ts";
import { DEFINITIONS } from "./definitions.ts";
import type { GatewayTool } from "./tool.ts";

const INPUT = z.strictObject({
  query: z.string().max(2_000).optional(),
  limit: z.number().int().min(1).max(50).optional(),
  server: z.string().max(64).optional(),
  detail: z.enum(["signature", "types", "schema"]).optional(),
});

const BUDGET_TOKENS = 2_000;
/** One tool is shown whole, within reason. */
const LINE_LENGTH = 40_000;
const SHOWN_WEAK = 5;
const USUAL_LIMIT = 8;

/** Finds tools by what they do. */
export const searchTools: GatewayTool = {
  definition: DEFINITIONS.search_tools,
  label: "agentcards:search_tools",
  run: async (session, { input }) => {
    const { query = "", limit, server, detail = "signature" } = parseInput(INPUT, input);
    return {
      kind: "result",
      result: textResult(await answer(session, { query: query.trim(), limit, server, detail })),
    };
  },
};

interface Search {
  readonly query: string;
  readonly limit: number | undefined;
  readonly server: string | undefined;
  readonly detail: Detail;
}

async function answer(session: WorkSession, { query, limit, server, detail }: Search): Promise<string> {
  const help = server === OWN_SERVER ? ownTools() : helpFor(query);
  if (help !== undefined) return help;
  const meant = query === "" ? server : server === undefined ? serverMeant(session, query) : undefined;
  if (meant !== undefined && query === "") return await toolsOf(session, meant, { detail, limit });
  if (meant !== undefined) return await toolsNamed(session, meant, { query, detail, limit });
  if (query === "") return await serversText(session);
  const found = await findTools(session, { query, limit: limit ?? USUAL_LIMIT, ...server && { server } });
  const shown = [...found.tools, ...found.weak];
  session.observer.asked(query, shown.map((hit) => ({ tool: hit.tool.id, missing: missingOf(shown, hit) })));
  const notes = [...found.notes, ...chainNote(session, shown.map(({ tool }) => tool.id))];
  return await render({ ...found, notes }, { detail, shownWeak: limit ?? SHOWN_WEAK });
}

/** Work that came back as single calls could be one call. */
function chainNote(session: WorkSession, shown: readonly string[]): string[] {
  const offer = session.chains.known(session).find(({ tasks }) => tasks.some(({ tool }) => shown.includes(tool)));
  if (!offer) return [];
  const tools = oneLine(offer.tasks.map(({ tool }) => tool).join(" → "), 200);
  return [
    `(${tools} was called one by one ${offer.times} times; the user can make it one call: agentcards workflow suggest)`,
  ];
}

const OTHER_HITS = 3;

/** The tools of a server that a query names, and the best of the other servers: the word may mean a purpose, too. */
async function toolsNamed(
  session: WorkSession,
  server: string,
  { query, detail, limit }: Pick<Search, "query" | "detail" | "limit">,
): Promise<string> {
  const own = await toolsOf(session, server, { detail, limit });
  const found = await findTools(session, { query, limit: OTHER_HITS * 3 });
  const others = [...found.tools, ...found.weak].filter(({ tool }) => tool.server !== server).slice(0, OTHER_HITS);
  if (others.length === 0) return own;
  return `${own}\n(other servers: ${others.map(({ tool }) => tool.id).join(", ")})`;
}

const OWN_SERVER = "agentcards";
const ABOUT_LENGTH = 120;
const SHOWN_NAMES = 8;
const SHOWN_REST = 200;

/** A line for each server: how many tools it has, and what it says about itself or what its tools are called. */
async function serversText(session: WorkSession): Promise<string> {
  const { servers, notes } = await listServers(session);
  const lines = servers.map(({ server, tools, about }) => {
    const names = tools.slice(0, SHOWN_NAMES).map(({ name }) => name).join(", ");
    const more = tools.length > SHOWN_NAMES ? `, and ${tools.length - SHOWN_NAMES} more` : "";
    return `${server} (${tools.length} ${tools.length === 1 ? "tool" : "tools"}): ${
      about ? `${oneLine(about, ABOUT_LENGTH)} ` : ""
    }[${names}${more}]`;
  });
  return [
    ...lines.length > 0 ? lines : ["No servers are configured."],
    ...notes,
    'search_tools {"server": NAME} lists the tools of one, {"query": ...} searches all.',
  ].join("\n");
}

/** All tools of one server: as many as fit in full, the others by name. */
async function toolsOf(
  session: WorkSession,
  server: string,
  { detail, limit }: { detail: Detail; limit: number | undefined },
): Promise<string> {
  const { tools, notes } = await knownTools(session, server);
  const { allowed = [], withheld = [] } = Object.groupBy(
    tools,
    (tool) => mayBeCalled(session, tool) ? "allowed" : "withheld",
  );
  const { text, rest } = await inFull(allowed, detail, limit);
  const names = rest.slice(0, SHOWN_REST).map(({ name }) => name).join(", ");
  const unnamed = rest.length > SHOWN_REST ? ` and ${rest.length - SHOWN_REST} others` : "";
  return [
    ...text.length > 0 ? text : [`${server} has no tools.`],
    ...rest.length > 0 ? [`(${rest.length} more of ${server}, by name: ${names}${unnamed}; a query finds them)`] : [],
    ...withheldNote(session, withheld),
    ...reviewNote(session, server),
    ...notes,
  ].join("\n");
}

type Detail = NonNullable<z.infer<typeof INPUT>["detail"]>;

/** As many tools as the budget holds, one at least; the others are left for whoever asks, and not written out. */
async function inFull(
  tools: readonly Tool[],
  detail: Detail,
  limit = Infinity,
): Promise<{ text: string[]; rest: readonly Tool[] }> {
  const methods = new Map<Tool, string>();
  const method = (tool: Tool) => methods.getOrInsertComputed(tool, declaredMethod);
  const rendered: Readonly<Record<Detail, (tool: Tool) => string>> = {
    signature,
    types: (tool) => declarations([tool], method),
    schema: schemaText,
  };
  const breathe = createBreather();
  const shown: string[] = [];
  let spent = 0;
  for (const tool of tools) {
    if (shown.length > 0 && (spent >= BUDGET_TOKENS || shown.length >= limit)) break;
    await breathe();
    const line = cut(rendered[detail](tool), LINE_LENGTH);
    spent += tokens(line);
    if (shown.length > 0 && spent > BUDGET_TOKENS) break;
    shown.push(line);
  }
  // One declaration for each server, so that the text as a whole can be used.
  const isDeclared = detail === "types" && shown.length > 0 && shown.every((line) => line.length < LINE_LENGTH);
  return {
    text: isDeclared ? [declarations(tools.slice(0, shown.length), method)] : shown,
    rest: tools.slice(shown.length),
  };
}

interface Rendering {
  readonly detail: Detail;
  readonly shownWeak: number;
}

async function render(
  { tools, weak, isUnlikely, also, notes }: Found,
  { detail, shownWeak }: Rendering,
): Promise<string> {
  const isWeak = tools.length === 0 && weak.length > 0;
  const hits = isWeak ? weak.slice(0, shownWeak) : tools;
  const left = isWeak ? weak.length - hits.length : 0;
  const { text, rest } = await inFull(hits.map(({ tool }) => tool), detail);
  return [
    ...hits.length === 0 ? [NOTHING] : isUnlikely ? [UNLIKELY] : isWeak ? [WEAK] : [],
    ...text,
    ...hits.slice(0, hits.length - rest.length).flatMap(({ tool: { id } }) => {
      const others = also?.get(id);
      return others ? [`(same name as ${id}: also ${others.join(", ")})`] : [];
    }),
    ...rest.length > 0 ? [`(${rest.length} more did not fit; ask with a smaller limit or a narrower query)`] : [],
    ...left > 0 ? [`(${left} weaker matches are not shown; "limit": ${weak.length} shows them)`] : [],
    ...notes,
  ].join("\n");
}

const WEAK = "Weak matches, the best first; other words, or the name of a service, may find more:";
const UNLIKELY =
  "No tool fits well. These weak matches come nearest; other words, or the name of a service, may find more:";
const NOTHING = "No tool was found. search_tools without a query lists the servers.";

function schemaText(tool: Tool): string {
  const { id, description, inputSchema, outputSchema } = tool;
  return sanitise(JSON.stringify({ tool: id, description, inputSchema, ...outputSchema && { outputSchema } }));
}
