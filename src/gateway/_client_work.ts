import { AgentCardsError } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import { forbiddenOwnTool } from "../policy/rules.ts";
import type { Caller } from "./caller.ts";
import { carryOut, denied } from "./execute.ts";
import { directTool } from "./exposure.ts";
import { type Answer, relay } from "./relay.ts";
import { TOOLS } from "./tools/all.ts";
import type { GatewayCall } from "./tools/tool.ts";
import { META } from "./_wire_form.ts";
import type { WorkSession } from "./workflows.ts";

type Message = Record<string, unknown>;

const NO_SUCH_METHOD: Answer = { kind: "error", code: -32601, message: "Method not found" };
const byName = new Map(TOOLS.map((tool) => [tool.definition.name, tool]));

/** What is done for one request, and what it is filed under. */
export interface Work {
  readonly label?: string;
  run(session: WorkSession, caller: Caller): Promise<Answer>;
}

/** What a request asks for. */
export function workFor(session: WorkSession, method: string, params: Message, meta: Message): Work {
  const extras = extrasOf(params, meta);
  if (method !== "tools/call") {
    if (!session.config.expose.resources) return { run: () => Promise.resolve(NO_SUCH_METHOD) };
    const { _meta, inputResponses: _answers, requestState: _state, ...asked } = params;
    return { run: (open, caller) => relay(open, { method, params: asked, ...extras }, caller) };
  }
  const input = params.arguments ?? {};
  if (!isObject(input)) throw new AgentCardsError("INPUT_INVALID", "arguments must be an object");
  if (session.config.expose.tools === "direct") return directCall(params.name, input, extras);
  const tool = byName.get(params.name as string);
  if (!tool) throw unknownTool(params.name);
  const forbidden = forbiddenOwnTool(session.config.policy, tool.definition.name);
  if (forbidden) throw denied(`agentcards:${tool.definition.name}`, forbidden);
  const call: GatewayCall = { input, ...extras };
  return { label: tool.label(input), run: (open, caller) => tool.run(open, call, caller) };
}

/** A call by the name under which a server's tool was listed itself. */
function directCall(name: unknown, given: Message, extras: Extras): Work {
  if (typeof name !== "string") throw new AgentCardsError("INPUT_INVALID", "name must be a text");
  return {
    label: name,
    async run(session, caller) {
      const tool = await directTool(session, name);
      const done = await carryOut(session, tool, { call: { tool: tool.id, arguments: given, ...extras }, caller });
      return "reply" in done ? done.reply : done;
    },
  };
}

interface Extras {
  readonly meta?: Message;
  readonly retry?: Message;
}

/** What a call carries besides its arguments: trace context for the server, answers of a repeated call. */
function extrasOf(params: Message, meta: Message): Extras {
  let passed: Message | undefined;
  for (const key in meta) {
    if (key !== "progressToken" && !key.startsWith(META)) (passed ??= {})[key] = meta[key];
  }
  const { inputResponses, requestState } = params;
  const retry = inputResponses === undefined && requestState === undefined ? undefined : {
    ...inputResponses !== undefined && { inputResponses },
    ...requestState !== undefined && { requestState },
  };
  return { ...passed && { meta: passed }, ...retry && { retry } };
}

function unknownTool(name: unknown): AgentCardsError {
  return new AgentCardsError("TOOL_UNKNOWN", `There is no tool ${JSON.stringify(name)?.slice(0, 100)} here`, {
    hint: `There are ${[...byName.keys()].join(", ")}; tools of servers go through call_tool.`,
  });
}
