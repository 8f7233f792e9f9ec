import { toolCall } from "../call/mod.ts";
import { AgentCardsError, type Caller, type CallResult, HOOK_TOOL, isObject } from "../model/mod.ts";
import { denied, forbiddenOwnTool } from "../policy/mod.ts";
import type { WorkSession } from "../workflow/mod.ts";
import { directTool } from "./exposure.ts";
import { forward } from "./forward.ts";
import { takeHook } from "./hooks/hook_call.ts";
import { TOOLS } from "./tools/all.ts";
import type { GatewayCall } from "./tools/tool.ts";
import { META } from "./wire/era.ts";

type Message = Record<string, unknown>;

const NO_SUCH_METHOD: CallResult = { kind: "error", code: -32601, message: "Method not found" };
const byName = new Map(TOOLS.map((tool) => [tool.definition.name, tool]));

/** True for the name of one of the gateway's own tools. */
export const isOwnTool = (name: string): boolean => byName.has(name);

/** The work of one request, and the name under which it is filed, if it is. */
export interface Work {
  readonly label?: string;
  run(session: WorkSession, caller: Caller): Promise<CallResult>;
}

/** The work that a request asks for. */
export function workFor(session: WorkSession, method: string, params: Message, meta: Message): Work {
  const extras = extrasOf(params, meta);
  if (method !== "tools/call") {
    if (!session.config.expose.resources) return { run: () => Promise.resolve(NO_SUCH_METHOD) };
    const { _meta, inputResponses: _answers, requestState: _state, ...asked } = params;
    return { run: (open, caller) => forward(open, { method, params: asked, ...extras }, caller) };
  }
  const input = params.arguments ?? {};
  if (!isObject(input)) throw new AgentCardsError("INPUT_INVALID", "arguments must be an object");
  if (params.name === HOOK_TOOL) return { run: (open) => takeHook(open, input) };
  if (session.config.expose.tools === "direct") return directCall(params.name, input, extras);
  const tool = byName.get(params.name as string);
  if (!tool) throw unknownTool(params.name);
  const { policy } = session.config;
  const forbidden = policy.deny.length > 0 ? forbiddenOwnTool(policy, tool.definition.name) : undefined;
  if (forbidden) throw denied(`agentcards:${tool.definition.name}`, forbidden);
  const call: GatewayCall = { input, ...extras };
  return { ...tool.label && { label: tool.label }, run: (open, caller) => tool.run(open, call, caller) };
}

/** A call by the name under which a server's tool was listed itself. */
function directCall(name: unknown, given: Message, extras: Extras): Work {
  if (typeof name !== "string") throw new AgentCardsError("INPUT_INVALID", "name must be a string");
  return {
    async run(session, caller) {
      const { server, name: tool } = await directTool(session, name);
      const address = { server, name: tool };
      const origin = { by: "agent" } as const;
      return await session.call(toolCall(session, address, { arguments: given, ...extras }, { caller, origin }));
    },
  };
}

interface Extras {
  readonly meta?: Message;
  readonly retry?: Message;
}

/** The parts of a call beside its arguments: trace context for the server, answers of a repeated call. */
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
