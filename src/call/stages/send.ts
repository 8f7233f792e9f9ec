import {
  type Call,
  calledId,
  type CallResult,
  isObject,
  OWN_SERVER,
  withoutInvisible,
  WORKFLOW_SERVER,
} from "../../model/mod.ts";
import { unrefTimer } from "../../platform/start.ts";
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
    if (server === WORKFLOW_SERVER) return await session.shared.runSaved(session, name, call);
    const result = await toServer(session, session.shared.traces ? withTrace(call) : call);
    if (result.kind === "large" && result.large.output.kind === "stored") {
      // The Worker that read the result did not know its tool.
      const { output: { handle }, bytes } = result.large;
      session.shared.results.register({ handle, tool: calledId(call), bytes });
    }
    return result;
  };
}

/** The span of the call goes on in the server, instead of that of the client's request. */
function withTrace(call: Call): Call {
  const { params, trace } = call;
  return { ...call, params: { ...params, _meta: { ...isObject(params._meta) ? params._meta : {}, ...trace } } };
}

async function toServer(session: Session, call: Call): Promise<CallResult> {
  const { address: { server }, client: { progress, logLevel }, signal, timeoutMs, onSent } = call;
  const calls = session.calls(server);
  calls.add(call);
  let isAnswered = false;
  try {
    const result = await session.server(server).request(call.method, call.params, {
      capabilities: () => declared(call),
      ...logLevel !== undefined && { logLevel },
      timeoutMs: timeoutMs ?? session.config.servers[server]?.timeout ?? CALL_TIMEOUT_MS,
      signal,
      ...progress && { onProgress: (said) => progress(withoutInvisible(said)) },
      ...onSent && { onSent },
    });
    isAnswered = true;
    return result;
  } finally {
    calls.delete(call);
    const isForMany = session.config.servers[server]?.shared || session.client.isMultiplexed;
    if (!isAnswered && isForMany) linger(calls, call);
  }
}

const LINGER_MS = 60_000;

/** A server may still ask for a call that was given up: for a while no other session or client is asked instead. */
function linger(calls: Set<Call>, call: Call): void {
  const gone: Call = { ...call, client: { owner: call.client.owner ?? {} }, human: { kind: "nobody" } };
  calls.add(gone);
  unrefTimer(setTimeout(() => calls.delete(gone), LINGER_MS) as unknown as number);
}
