import type { Attributes, Link, SpanKind } from "@opentelemetry/api";
import { createHash } from "node:crypto";
import { system, VERSION } from "../../platform/start.ts";
import { contextOf, parentOf, type TraceContext } from "./trace_context.ts";
import type { SpanMaker } from "./span.ts";
import { createRunTraces, type RunTraces } from "./run_traces.ts";

/** An operation that is under way. */
export interface Traced {
  /** The context for requests that are made for it. */
  readonly context: TraceContext;
  event(name: string, figures?: Attributes): void;
  /** `error`: the kind of its failure, never its text. */
  end(error?: string): void;
}

/** The names of an operation of the protocol. Arguments, results and addresses of resources are none. */
export interface Operation {
  readonly method: string;
  /** A tool or prompt that is known to exist. */
  readonly name?: string | undefined;
  readonly server?: string | undefined;
  readonly transport?: "pipe" | "tcp" | undefined;
  /** The run, the task and the kind of caller it belongs to. */
  readonly run?: string | undefined;
  readonly task?: string | undefined;
  readonly by?: string | undefined;
  readonly parent?: unknown;
  /** Milliseconds since 1970; now unless told. */
  readonly at?: number;
}

/** The tokens of a call. */
export interface TokenFigures {
  readonly tool: string;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly tokens_kept: number;
}

/** OpenTelemetry: spans and metrics with the names of the semantic conventions for MCP. */
export interface Traces extends RunTraces {
  /** A request of a client. */
  request(operation: Operation): Traced;
  /** A request to a server. */
  call(operation: Operation): Traced;
  tokens(figures: TokenFigures): void;
}

/** The bounds that the semantic conventions advise, in seconds. */
const BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

const isOn = system.env().OTEL_DENO === "true";

/** True where the runtime was started with its exporter on: nothing else switches traces on. */
export function isTraced(): boolean {
  return isOn;
}

/** Begins to trace; undefined where the runtime exports nothing. */
export async function startTraces(): Promise<Traces | undefined> {
  if (!isTraced()) return undefined;
  const { metrics, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = await import(
    "@opentelemetry/api"
  );
  const tracer = trace.getTracer("agentcards", VERSION);
  const meter = metrics.getMeter("agentcards", VERSION);
  const advice = { explicitBucketBoundaries: BOUNDS };
  const durations = (name: string) => meter.createHistogram(name, { unit: "s", advice });
  const served = durations("mcp.server.operation.duration");
  const sent = durations("mcp.client.operation.duration");
  const counter = (name: string) => meter.createCounter(name, { unit: "{token}" });
  const [tokensIn, tokensOut, tokensKept] = ["in", "out", "kept"].map((name) => counter(`agentcards.tokens.${name}`));

  const maker: SpanMaker = {
    begin({ name, kind, attributes, parent, links = [], at }) {
      const remote = parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT;
      const linked: Link[] = links.map((context) => ({ context }));
      return tracer.startSpan(
        name,
        { kind, attributes, links: linked, ...at !== undefined && { startTime: at } },
        remote,
      );
    },
    rootOf(name) {
      const hash = createHash("sha256").update(name).digest("hex");
      return { traceId: hash.slice(0, 32), spanId: hash.slice(32, 48), traceFlags: 1 };
    },
  };

  function begin(operation: Operation, kind: SpanKind, durations: typeof served): Traced {
    const { method, name, server, transport, run, task, by, parent, at } = operation;
    const isTool = method === "tools/call";
    const names: Attributes = {
      "mcp.method.name": method,
      ...name !== undefined && { [isTool ? "gen_ai.tool.name" : "gen_ai.prompt.name"]: name },
      ...isTool && { "gen_ai.operation.name": "execute_tool" },
      ...transport !== undefined && { "network.transport": transport },
      ...server !== undefined && { "agentcards.server": server },
    };
    const places: Attributes = {
      ...run !== undefined && { "agentcards.run.id": run },
      ...task !== undefined && { "agentcards.task.id": task },
      ...by !== undefined && { "agentcards.by": by },
    };
    const span = maker.begin({
      name: name === undefined ? method : `${method} ${name}`,
      kind,
      attributes: { ...names, ...places },
      parent: parentOf(parent),
      ...at !== undefined && { at },
    });
    const began = at ?? Date.now();
    const from = performance.now() - (Date.now() - began);
    return {
      context: contextOf(span.spanContext(), parent),
      event: (name, figures) => void span.addEvent(name, figures),
      end(error) {
        const failure = error === undefined ? {} : { "error.type": error };
        durations.record((performance.now() - from) / 1_000, { ...names, ...failure });
        if (error !== undefined) span.setAttributes(failure).setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  }

  return {
    request: (operation) => begin(operation, SpanKind.SERVER, served),
    call: (operation) => begin(operation, SpanKind.CLIENT, sent),
    tokens({ tool, tokens_in, tokens_out, tokens_kept }) {
      const names = { "gen_ai.tool.name": tool };
      tokensIn!.add(tokens_in, names);
      tokensOut!.add(tokens_out, names);
      if (tokens_kept > 0) tokensKept!.add(tokens_kept, names);
    },
    ...createRunTraces(maker, { kind: SpanKind.INTERNAL, failed: SpanStatusCode.ERROR }),
  };
}
