import {
  codeValueOf,
  requireReadable,
  resolveTool,
  serverVariables,
  type Session,
  stepsOf,
  toolCall,
  valueOf,
} from "../call/mod.ts";
import {
  AgentCardsError,
  type Caller,
  type CallResult,
  type Client,
  type Human,
  isFailure,
  isObject,
  type Json,
  type JsonObject,
  type LargeResult,
  nobody,
  oneLine,
  progressText,
  toAgentCardsError,
  toolId,
  type ToolResult,
} from "../model/mod.ts";
import {
  type CageCall,
  type CageLimits,
  type CageOutcome,
  type CageTools,
  JsonText,
  type Sandbox,
} from "../sandbox/mod.ts";

/** Code with what it gets to see. */
export interface CodeRequest {
  readonly code: string;
  readonly context: Json;
  readonly deps: Json;
}

export interface CodeOptions {
  readonly signal: AbortSignal;
  readonly limits: Partial<CageLimits>;
  /** The one who sent the code: rules about `code:run` may ask for approval. */
  readonly caller?: Caller;
  /** Calls a tool by what the code calls it; throws what the code is to hear. */
  call(asked: string, args: JsonObject, how: CageCall): Promise<unknown>;
}

/** Runs code in a cage, with every tool of the session inside. */
export async function runCode(
  sandbox: Sandbox,
  session: Session,
  { code, context, deps }: CodeRequest,
  { signal, limits, call, caller = nobody(signal) }: CodeOptions,
): Promise<CageOutcome> {
  await requireAllowed(session, { code, context }, caller);
  const servers = Object.fromEntries(serverVariables(session).servers);
  const { privacy } = session;
  const tools: CageTools = {
    async call(asked, args, how) {
      if (!isObject(args)) throw new AgentCardsError("INPUT_INVALID", `${oneLine(asked, 100)} takes an object`);
      try {
        return await call(asked, args as JsonObject, how);
      } catch (error) {
        throw privacy ? privacy.error(error, "agentcards") : error;
      }
    },
    result: (handle, path) => readResult(session, handle, path),
  };
  const minimumLevel = session.config.sandbox.minimum_level;
  const outcome = await sandbox.run({ code, context, deps, servers }, tools, { signal, minimumLevel, limits });
  // Code can put together what was not one piece when it came in.
  return privacy
    ? { ...outcome, ...await privacy.hideLong({ result: outcome.result, logs: outcome.logs }, "agentcards") }
    : outcome;
}

/** Judges the code itself, where a rule is about `code:run`: as a call that ends before any server. */
async function requireAllowed(
  session: Session,
  given: Pick<CodeRequest, "code" | "context">,
  caller: Caller,
): Promise<void> {
  const address = { server: "code", name: "run" };
  if (!session.rules.concerns(toolId(address.server, address.name))) return;
  await session.call({
    ...toolCall(session, address, { arguments: given as JsonObject }, { caller, origin: { by: "agent" } }),
    effect: "read",
    deliver: () => Promise.resolve({ kind: "result", result: { content: [] } }),
  });
}

/** Told of a call with effect when it goes out; gives the function that is told whether it had its effect, once known. */
export type OnActing = (tool: string) => (hasActed: boolean) => void;

/**
 * A call from code that an agent sent for itself: under the same rules as a call of the agent. `onMeant` is told which
 * tool a bare name meant.
 */
export function callsAs(
  session: Session,
  caller: Caller,
  onActing: OnActing,
  onMeant: (asked: string, tool: string) => void = () => {},
): CodeOptions["call"] {
  // One question at a time: a human who sees sixty reads none.
  let asking: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = asking.then(work);
    asking = turn.catch(() => {});
    return turn;
  };

  // Many calls share one token: the progress that a client hears must only ever go up.
  let steps = 0;
  const progressOf = (id: string): Client["progress"] => (said) =>
    caller.client.progress!({ progress: ++steps, message: oneLine(`${id}: ${progressText(said)}`, 300) });

  return async (asked, args, { signal, pause }) => {
    const address = await resolveTool(session, asked);
    const id = toolId(address.server, address.name);
    if (asked !== id) onMeant(asked, id);
    const inside: Caller = {
      ...caller,
      client: { ...caller.client, takesQuestions: false, ...caller.client.progress && { progress: progressOf(id) } },
      human: pausing(caller.human, { pause, inTurn }),
      signal,
    };
    const given = { arguments: args, ...caller.trace && { meta: caller.trace } };
    const call = toolCall(session, address, given, { caller: inside, origin: { by: "code" } });
    // Told when the call goes out: one whose answer never comes may have acted as well.
    let settle: ReturnType<OnActing> | undefined;
    const onSent = () => {
      if (call.effect === "effectful") settle ??= onActing(id);
    };
    try {
      const result = await session.call({ ...call, onSent });
      settle?.(!isFailure(result));
      return await unwrapped(session, id, result);
    } catch (error) {
      if (toAgentCardsError(error).data?.isUnsent === true) settle?.(false);
      throw error;
    }
  };
}

interface Turns {
  pause: CageCall["pause"];
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

/** While a human thinks, the clock of the code stands still. */
function pausing(human: Human, { pause, inTurn }: Turns): Human {
  if (human.kind === "nobody") return human;
  const { ask } = human;
  return {
    ...human,
    ask: async (request, signal) => {
      const goOn = pause();
      try {
        return await inTurn(() => signal.aborted ? Promise.reject(signal.reason) : ask(request, signal));
      } finally {
        goOn();
      }
    },
  };
}

/** The result of a tool as a plain value; its failure as an error. */
async function unwrapped(session: Session, id: string, reply: CallResult): Promise<unknown> {
  if (reply.kind === "error") {
    throw new AgentCardsError("TOOL_FAILED", `${id} failed: ${oneLine(reply.message, 2_000)}`);
  }
  if (reply.kind === "large") {
    const { isError, output } = reply.large;
    const value = output.kind === "value"
      ? codeValueOf(wholeOf(reply.large))
      : await readStored(session, output.handle, output.steps);
    if (isError) throw failed(value instanceof JsonText ? value.json : value);
    return value;
  }
  if (reply.result.isError === true) throw failed(valueOf(reply.result));
  return codeValueOf(reply.result);
}

/** A result that was read elsewhere, as it is: most of it is media. */
export function wholeOf({ json }: LargeResult): ToolResult {
  return JSON.parse(new TextDecoder().decode(json));
}

function failed(value: unknown): AgentCardsError {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "the tool failed";
  return new AgentCardsError("TOOL_FAILED", oneLine(text, 4_000));
}

async function readResult(session: Session, handle: string, path: unknown): Promise<Json | JsonText> {
  const steps = typeof path === "string"
    ? stepsOf(path)
    : Array.isArray(path)
    ? path.filter((step) => typeof step === "string" || typeof step === "number")
    : [];
  await requireReadable(session, handle);
  return await readStored(session, handle, steps);
}

/** A place in a stored result; as text, unless somebody has to look at it: it may have tens of megabytes. */
export async function readStored(
  session: Session,
  handle: string,
  steps: readonly (string | number)[],
): Promise<Json | JsonText> {
  const { results, large } = session.shared;
  const places = [{ steps, named: `results.get("${oneLine(handle, 40)}")` }];
  const list = await results.read(handle, (path) => large.readPart(path, { places })) as string;
  if (!session.privacy) return new JsonText(list.slice(1, -1));
  return await session.privacy.hideLong(JSON.parse(list)[0] as Json, "agentcards");
}
