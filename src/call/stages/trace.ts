import { isFailure, OWN_SERVER, toAgentCardsError, WORKFLOW_SERVER } from "../../model/mod.ts";
import type { Traces } from "../../telemetry/mod.ts";
import type { Session } from "../session.ts";
import type { Stage } from "./stage.ts";

/** Methods whose name is no value: that of a resource is its address. */
const NAMED: ReadonlySet<string> = new Set(["tools/call", "prompts/get"]);

/** A span for every call: below that of its task, of its request, or of the client's own. */
export function trace(session: Session, traces: Traces): Stage {
  return async (call, next) => {
    const { address: { server, name }, method, origin: { by, run, task } } = call;
    const context = run !== undefined && task !== undefined ? traces.task(run, task) : undefined;
    const span = traces.call({
      method,
      server,
      by,
      run,
      task,
      ...NAMED.has(method) && { name },
      transport: transportOf(session, server),
      parent: context ?? call.trace,
    });
    try {
      const result = await next({ ...call, trace: { ...call.trace, ...span.context } });
      span.end(result.kind === "error" ? String(result.code) : isFailure(result) ? "tool_error" : undefined);
      return result;
    } catch (error) {
      span.end(toAgentCardsError(error).code);
      throw error;
    }
  };
}

function transportOf({ config }: Session, server: string): "pipe" | "tcp" | undefined {
  if (server === OWN_SERVER || server === WORKFLOW_SERVER || !Object.hasOwn(config.servers, server)) return undefined;
  return config.servers[server]!.url === undefined ? "pipe" : "tcp";
}
