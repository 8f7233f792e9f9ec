import { AGENT_TOOLS, AgentCardsError, isObject, type JsonObject, oneLine, OWN_SERVER } from "../../model/mod.ts";
import type {
  ClientContext,
  NewSessionRequest,
  PromptResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
  SessionUpdate,
} from "@agentclientprotocol/sdk";
import type { AgentHost, AgentJob, Protocol } from "../job.ts";
import { countIn, MAX_ANSWER, startProgram } from "../program.ts";

type Sdk = typeof import("@agentclientprotocol/sdk");
type Permission = RequestPermissionRequest;

const START_MS = 60_000;
/** Kinds of tool calls that work on files, programs and the network. */
const OWN_WORK: ReadonlySet<string> = new Set(["read", "edit", "delete", "move", "search", "execute", "fetch"]);

/** A program that speaks the Agent Client Protocol on stdin and stdout. */
export const acp: Protocol = async (job, host) => {
  const sdk: Sdk = await import("@agentclientprotocol/sdk" as string);
  const { client, methods, ndJsonStream, PROTOCOL_VERSION } = sdk;
  await using running = await startProgram(job, [], host);
  const { process } = running;
  const hearing = createHearing(job, host);
  const app = client({ name: OWN_SERVER })
    .onNotification(methods.client.session.update, ({ params }) => hearing.update(params.update))
    .onRequest(methods.client.session.requestPermission, ({ params }) => permission(params, { job, host }));
  const stdin = new WritableStream<Uint8Array>({
    write: (chunk) => process.stdin.write(chunk as Uint8Array<ArrayBuffer>),
  });
  const connection = app.connect(ndJsonStream(stdin, process.stdout));
  const ended = process.exited.then(() => running.ended()).then((error) => {
    throw error;
  });
  const work = async () => {
    const started = AbortSignal.any([host.signal, AbortSignal.timeout(START_MS)]);
    const { agentCapabilities } = await connection.agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    }, { cancellationSignal: started });
    const session = await sessionOf(connection.agent, { job, sdk, can: abilitiesOf(agentCapabilities) });
    await host.onSession(session.id, session.resumes);
    hearing.begin();
    const prompt = [{ type: "text" as const, text: job.prompt }];
    const params = { sessionId: session.id, prompt };
    const { stopReason } = await Promise.race<PromptResponse>([
      connection.agent.request(methods.agent.session.prompt, params),
      hearing.broken,
    ]);
    if (stopReason === "end_turn") return hearing.text();
    throw new AgentCardsError("TOOL_FAILED", `it stopped: ${stopReason}`);
  };
  try {
    return await Promise.race([work(), ended]);
  } finally {
    ended.catch(() => {});
    connection.close();
  }
};

interface Abilities {
  readonly resume: boolean;
  readonly load: boolean;
}

function abilitiesOf(capabilities: unknown): Abilities {
  const { loadSession, sessionCapabilities } = isObject(capabilities) ? capabilities : {};
  const resume = isObject(sessionCapabilities) && isObject(sessionCapabilities.resume);
  return { resume, load: loadSession === true };
}

interface Opening {
  readonly job: AgentJob;
  readonly sdk: Sdk;
  readonly can: Abilities;
}

/** The session of before where the program can go on with it, else a new one. */
async function sessionOf(agent: ClientContext, { job, sdk: { methods }, can }: Opening) {
  const { command, args } = job.gateway;
  const place: NewSessionRequest = {
    cwd: job.folder,
    mcpServers: [{ name: OWN_SERVER, command, args: [...args], env: [] }],
    // The adapter of Claude Code takes its tools and the user's settings away by these; others do not know them.
    _meta: {
      ...!job.hasOwnTools && { disableBuiltInTools: true },
      claudeCode: { options: { settingSources: [], strictMcpConfig: true } },
    },
  };
  const resumes = can.resume || can.load;
  if (job.session !== undefined) {
    const params = { ...place, sessionId: job.session };
    if (can.resume) await agent.request(methods.agent.session.resume, params);
    else if (can.load) await agent.request(methods.agent.session.load, params);
    else throw new AgentCardsError("TOOL_FAILED", "the program cannot go on with its session any more");
    return { id: job.session, resumes };
  }
  const { sessionId } = await agent.request(methods.agent.session.new, place);
  return { id: sessionId, resumes };
}

/** Reads what the program says about its work: the text after its last call is its answer. */
function createHearing({ hasOwnTools, agent }: AgentJob, { meter, onNews }: AgentHost) {
  const { promise: broken, reject } = Promise.withResolvers<never>();
  broken.catch(() => {});
  const ours = new Set<string>();
  let text = "";
  let isNew = false;

  /** A call of the program's own, where none is allowed, ends its work. */
  function called(update: Record<string, unknown>): void {
    const { toolCallId, kind, status, title } = update;
    const id = String(toolCallId);
    if (update.sessionUpdate === "tool_call") {
      text = "";
      meter.turn();
      onNews(oneLine(String(title ?? "a tool"), 200));
    }
    if (isOurs(update)) ours.add(id);
    const isOwnWork = OWN_WORK.has(String(kind)) && !ours.has(id) && status === "completed";
    if (!isOwnWork || hasOwnTools) return;
    const used = oneLine(String(title ?? kind), 100);
    reject(
      new AgentCardsError("TOOL_DENIED", `it used a tool of its own (${used}), which own_tools: false forbids`, {
        hint: `It was stopped. Allow it in agents.${agent.name}.own_tools and in the task, if you trust it.`,
      }),
    );
  }

  return {
    broken,
    /** The texts that a session repeats when it is loaded are no answer. */
    begin: () => void (isNew = true),
    text: () => text,
    update(update: SessionUpdate): void {
      if (!isNew) return;
      switch (update.sessionUpdate) {
        case "agent_message_chunk":
          if (update.content.type === "text") text = (text + update.content.text).slice(-MAX_ANSWER);
          return;
        case "tool_call":
        case "tool_call_update":
          return called(update as unknown as Record<string, unknown>);
        case "usage_update":
          if (update.cost?.currency === "USD") meter.cost(countIn(update.cost.amount));
      }
    },
  };
}

/** True for a call of one of the tools that we gave the program: those are judged where they arrive. */
function isOurs({ name, title, rawInput }: Record<string, unknown>): boolean {
  const said = [name, title, isObject(rawInput) ? rawInput.server : undefined].map(String).join(" ");
  return said.includes(OWN_SERVER) && [...AGENT_TOOLS].some((tool) => said.includes(tool));
}

/** Answers the question whether a tool may be used. */
async function permission(
  { toolCall, options }: Permission,
  { job, host }: { readonly job: AgentJob; readonly host: AgentHost },
): Promise<RequestPermissionResponse> {
  const { title, name, kind, rawInput } = toolCall;
  const input = isObject(rawInput) ? rawInput as JsonObject : {};
  const shown = name ?? kind ?? "tool";
  const isAllowed = isOurs(toolCall as unknown as Record<string, unknown>) ||
    job.hasOwnTools && await host.permit(shown, { ...title && { title }, ...input }).catch(() => false);
  const wanted = isAllowed ? ["allow_once"] : ["reject_once", "reject_always"];
  const option = options.find((one) => wanted.includes(one.kind));
  return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
}
