import { isTraced } from "./traces.ts";

/** A trace that is not recorded. */
const UNRECORDED = { traceId: `${"0".repeat(31)}1`, spanId: `${"0".repeat(15)}1`, traceFlags: 0, isRemote: true };

let loading: Promise<<T>(work: () => Promise<T>) => Promise<T>> | undefined;

async function load(): Promise<<T>(work: () => Promise<T>) => Promise<T>> {
  const { context, ROOT_CONTEXT, trace } = await import("@opentelemetry/api");
  const quiet = trace.setSpanContext(ROOT_CONTEXT, UNRECORDED);
  return (work) => context.with(quiet, work);
}

/**
 * Makes requests that the runtime's own instrumentation is not to export: its spans hold whole addresses, with their
 * queries, which may be secret.
 */
export async function untraced<T>(work: () => Promise<T>): Promise<T> {
  if (!isTraced()) return await work();
  return await (await (loading ??= load()))(work);
}
