import { type Session, toolCall } from "../../call/mod.ts";
import { type Caller, isFailure, type JsonObject, nobody, splitToolId, type ToolResult } from "../../model/mod.ts";

export interface MakeOptions {
  readonly caller: Pick<Caller, "signal" | "trace">;
  /** The call is called off when this ends. */
  readonly signal: AbortSignal;
}

/** Makes one read that nobody has asked for; undefined where it fails, takes too long, or would ask a person. */
export async function makeRead(
  session: Session,
  { tool, arguments: args }: { readonly tool: string; readonly arguments: JsonObject },
  { caller, signal }: MakeOptions,
): Promise<ToolResult | undefined> {
  const { server = "", name } = splitToolId(tool);
  const behind = { ...nobody(AbortSignal.any([caller.signal, signal])), ...caller.trace && { trace: caller.trace } };
  const call = toolCall(session, { server, name }, { arguments: args }, {
    caller: behind,
    origin: { by: "speculation" },
  });
  if (call.effect !== "read") return undefined;
  try {
    const result = await session.call(call);
    return result.kind === "result" && !isFailure(result) ? result.result : undefined;
  } catch {
    // Nobody waits for it: the call is made, and told about, when it is asked for.
    return undefined;
  }
}
