import type { Call, CallResult } from "../../model/call.ts";
import { OWN_SERVER, WORKFLOW_SERVER } from "../../model/tool.ts";
import { declared } from "../human/asking.ts";
import { callOwnTool } from "../own_tools.ts";
import type { Session } from "../session.ts";
import type { Stage } from "./stage.ts";

/** The time of a call where its server's definition does not say. */
export const CALL_TIMEOUT_MS = 10 * 60_000;

/** Sends the call to its server, which is started when needed. Our own tools and saved workflows are answered here. */
export function send(session: Session): Stage {
  return async (call) => {
    if (call.deliver) return await call.deliver(call);
    const { server, name } = call.address;
    if (server === OWN_SERVER) return { kind: "result", result: await callOwnTool(session, call) };
    if (server === WORKFLOW_SERVER) return await session.shared.runTemplate(session, name, call);
    return await toServer(session, call);
  };
}

async function toServer(session: Session, call: Call): Promise<CallResult> {
  const { address: { server }, client, signal, timeoutMs, onSent } = call;
  const calls = session.calls(server);
  calls.add(call);
  try {
    return await session.server(server).request(call.method, call.params, {
      capabilities: declared(call),
      ...client.logLevel !== undefined && { logLevel: client.logLevel },
      timeoutMs: timeoutMs ?? session.config.servers[server]?.timeout ?? CALL_TIMEOUT_MS,
      signal,
      ...client.progress && { onProgress: client.progress },
      ...onSent && { onSent },
    });
  } finally {
    calls.delete(call);
  }
}
