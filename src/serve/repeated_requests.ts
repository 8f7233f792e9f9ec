import { identity, type Origin, resolveTool } from "../call/mod.ts";
import {
  type Address,
  AgentCardsError,
  type Caller,
  type CallResult,
  isObject,
  oneLine,
  sha256,
  toAgentCardsError,
  toolId,
  WORKFLOW_SERVER,
} from "../model/mod.ts";
import { effectOf } from "../policy/mod.ts";
import { resultOfRun, workflowAnswer, type WorkSession } from "../workflow/mod.ts";
import type { Work } from "./dispatch.ts";
import { directTool } from "./exposure.ts";

type Message = Record<string, unknown>;

/**
 * The key of a client's request, the same in every engine. Its content is part of it, because some clients use an id
 * twice: a request that was never carried out must not be taken for an older one.
 */
export async function keyOf([connection, id]: Origin, call: Message): Promise<string> {
  return `${connection}:${JSON.stringify(id)}:${(await sha256(identity(call))).slice(0, 16)}`;
}

export interface Repeated {
  readonly method: string;
  readonly params: Message;
  /** To be told once it is known what the request had begun. */
  onPlaced(): void;
}

/**
 * The work for a request that an engine before was sent and did not answer. Only workflows are in the journal: their
 * requests wait for the run that they began. What reads is done again, what may have acted is not.
 */
export function workAgain(work: Work, { method, params, onPlaced }: Repeated): Work {
  const run: Work["run"] = async (session, caller) => {
    const attach = (isTemplate = false) => attached(session, caller, { onPlaced, isTemplate });
    const carryOut = () => {
      onPlaced();
      // Nobody waits for it any more, and nothing has begun.
      caller.signal.throwIfAborted();
      return work.run(session, caller);
    };
    if (method !== "tools/call") return await carryOut();
    const isDirect = session.config.expose.tools === "direct";
    const tool = isDirect ? "call_tool" : params.name;
    if (tool === "run_workflow" || tool === "resume_workflow") return await attach() ?? await carryOut();
    if (tool === "execute_code") throw codeMayHaveActed();
    const called = tool === "call_tool" ? await calledTool(session, params, isDirect) : undefined;
    if (!called || called.kind === "read") return await carryOut();
    const found = await attach(called.kind === "workflow");
    if (found) return found;
    if (called.kind === "workflow") return await carryOut();
    throw mayHaveActed(called.id);
  };
  return { ...work, run };
}

interface Called {
  readonly id: string;
  readonly kind: "read" | "acting" | "workflow";
}

/** The tool that a call means; undefined where the call is refused whatever happens. */
async function calledTool(session: WorkSession, params: Message, isDirect: boolean): Promise<Called | undefined> {
  const given = isObject(params.arguments) ? params.arguments.tool : undefined;
  const asked = isDirect ? params.name : given;
  if (typeof asked !== "string") return undefined;
  let address: Address;
  try {
    address = isDirect ? await directTool(session, asked) : await resolveTool(session, asked);
  } catch (error) {
    // A tool that is not there was not called; a server that does not start now may have been running then.
    return UNKNOWN.has(toAgentCardsError(error).code) ? undefined : { id: oneLine(asked, 200), kind: "acting" };
  }
  const { server, name } = address;
  const id = toolId(server, name);
  if (server === WORKFLOW_SERVER) return { id, kind: "workflow" };
  if (server === "agentcards") return { id, kind: "read" };
  const tool = session.inMemory(server, name) ??
    (await session.known(server))?.tools.find((one) => one.name === name);
  const isRead = tool !== undefined && effectOf(session.config.policy, tool) === "read";
  return { id, kind: isRead ? "read" : "acting" };
}

const UNKNOWN: ReadonlySet<string> = new Set(["TOOL_UNKNOWN", "TOOL_AMBIGUOUS", "SERVER_UNKNOWN", "INPUT_INVALID"]);

interface Attaching {
  onPlaced(): void;
  /** True if a saved workflow was called as a tool: then its failure is the tool's. */
  readonly isTemplate: boolean;
}

/** The next answer of the run that a request had begun or decided about; undefined where it had not. */
async function attached(
  session: WorkSession,
  caller: Caller,
  { onPlaced, isTemplate }: Attaching,
): Promise<CallResult | undefined> {
  const key = await caller.key!();
  const view = await session.workflows.attach(key, { session, caller, by: "agent" }, onPlaced);
  if (!view) return undefined;
  const isError = isTemplate && view.state.status === "failed";
  return { kind: "result", result: resultOfRun(await workflowAnswer(view, session), isError) };
}

function mayHaveActed(id: string): AgentCardsError {
  return new AgentCardsError(
    "SERVER_LOST",
    `AgentCards' engine went away during this call of ${id}. It may or may not have had an effect, and was not made again`,
    {
      hint:
        "Find out first: look at what it would have changed with a tool that reads (search_tools finds one), or ask the user. Call it again only if it has not happened.",
    },
  );
}

function codeMayHaveActed(): AgentCardsError {
  return new AgentCardsError(
    "SERVER_LOST",
    "AgentCards' engine went away during this call of execute_code. The tools that the code called may or may not have had an effect, and it was not run again",
    {
      hint:
        "Find out first: look at what it would have changed with tools that read. Then run only the part that has not happened; run_workflow survives such an end.",
    },
  );
}
