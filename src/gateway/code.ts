import type { CageOutcome, CageTools } from "../sandbox/cage.ts";
import type { CageLimits } from "../sandbox/limits.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { identifier } from "../model/declaration.ts";
import { AgentCardsError } from "../model/errors.ts";
import { isObject, type Json } from "../model/json.ts";
import { oneLine } from "../model/text.ts";
import { toolId } from "../model/tool.ts";
import { judge } from "../policy/rules.ts";
import type { Reply } from "../mcp/upstream.ts";
import { valueOf } from "./answer.ts";
import { approve, type Caller } from "./caller.ts";
import { callServer, denied, resolveTool } from "./execute.ts";
import { OWN_TOOLS } from "./own_tools.ts";
import type { Session } from "./session.ts";

/** Code with what it gets to see. */
export interface CodeRequest {
  readonly code: string;
  readonly context: Json;
  readonly deps: Json;
}

export interface CodeOptions {
  readonly caller: Caller;
  readonly limits: Partial<CageLimits>;
  /** Whether a tool may be called from this code; the error says why not. */
  check?(tool: string): Promise<void>;
}

/** Variables that code has anyway; a server of such a name is reached as tools["name:tool"]. */
const GIVEN = new Set(["context", "deps", "tools", "results", "ToolError", "console", "Deno", "undefined"]);

/** Runs code in a cage, with every tool of the session inside, each call under the same rules as any other. */
export async function runCode(
  sandbox: Sandbox,
  session: Session,
  { code, context, deps }: CodeRequest,
  { caller, limits, check }: CodeOptions,
): Promise<CageOutcome> {
  const servers = Object.fromEntries(
    session.status().filter(({ config }) => !config.disabled).map(({ config: { name } }) => [identifier(name), name])
      .filter(([variable]) => !GIVEN.has(variable!)),
  );
  const tools: CageTools = {
    async call(asked, args, signal) {
      if (!isObject(args)) throw new AgentCardsError("INPUT_INVALID", `${oneLine(asked, 100)} takes an object`);
      return await callFromCode(session, { asked, args }, { ...caller, signal, ...check && { check } });
    },
    result: (handle, path) => readResult(session, handle, path),
  };
  return await sandbox.run({ code, context, deps, servers }, tools, {
    signal: caller.signal,
    minimumLevel: session.config.sandbox.minimum_level,
    limits,
  });
}

interface CodeCaller extends Caller {
  check?(tool: string): Promise<void>;
}

async function callFromCode(
  session: Session,
  { asked, args }: { asked: string; args: Record<string, unknown> },
  caller: CodeCaller,
): Promise<unknown> {
  const began = performance.now();
  const { server, name } = await resolveTool(session, asked);
  const id = toolId(server, name);
  if (server === "agentcards") return valueOf(await OWN_TOOLS.call(session, name, args));
  const verdict = judge(session.config.policy, id);
  if (verdict.kind === "deny") throw denied(id, verdict.pattern);
  await caller.check?.(id);
  if (verdict.kind === "approve") await approve({ id, arguments: args, pattern: verdict.pattern }, caller);
  let isOk = false;
  try {
    const value = await unwrapped(
      session,
      id,
      await callServer(session, { server, request: { name, arguments: args } }, caller),
    );
    isOk = true;
    return value;
  } finally {
    session.shared.record({ tool: id, ms: performance.now() - began, ok: isOk, bytes: 0 });
  }
}

/** What a tool said, as a plain value; its failure as an error. */
async function unwrapped(session: Session, id: string, reply: Reply): Promise<unknown> {
  if (reply.kind === "error") {
    throw new AgentCardsError("TOOL_FAILED", `${id} failed: ${oneLine(reply.message, 2_000)}`);
  }
  if (reply.kind === "large") {
    const { isError, output } = reply.large;
    const value = output.kind === "value" ? output.value : await readStored(session, output.handle, output.steps);
    if (isError) throw failed(value);
    return value;
  }
  const value = valueOf(reply.result);
  if (reply.result.isError === true) throw failed(value);
  return value;
}

function failed(value: unknown): AgentCardsError {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "the tool failed";
  return new AgentCardsError("TOOL_FAILED", oneLine(text, 4_000));
}

async function readResult(session: Session, handle: string, path: unknown): Promise<Json> {
  const steps = Array.isArray(path) ? path.filter((step) => typeof step === "string" || typeof step === "number") : [];
  return await readStored(session, handle, steps);
}

async function readStored(session: Session, handle: string, steps: readonly (string | number)[]): Promise<Json> {
  const { results, large } = session.shared;
  const places = [{ steps, named: `results.get("${oneLine(handle, 40)}")` }];
  const values = await results.read(handle, (path) => large.readValues(path, places)) as Json[];
  return values[0]!;
}
