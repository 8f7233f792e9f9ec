import { AgentCardsError, isObject, type JsonObject, OWN_SERVER } from "../../model/mod.ts";
import type { AgentHost, AgentJob, Protocol } from "../job.ts";
import { type AgentProcess, countIn, objectsOf, startProgram, textIn } from "../program.ts";

/** Claude Code in print mode: an event a line on stdout. Its session is named before it starts. */
export const claude: Protocol = async (job, host) => {
  const session = job.session ?? crypto.randomUUID();
  await host.onSession(session, true);
  await using running = await startProgram(job, argumentsOf(job, session), host);
  const message = { role: "user", content: [{ type: "text", text: job.prompt }] };
  await running.write(`${JSON.stringify({ type: "user", message })}\n`);
  const turns = { count: 0, last: undefined as unknown };
  for await (const event of objectsOf(running.process)) {
    if (event.type === "assistant" && isObject(event.message)) heard(event.message, turns, host);
    // A result of a tool is followed by another answer, whatever its id.
    else if (event.type === "user") turns.last = undefined;
    else if (event.type === "control_request") void permitted(event, { job, host, running });
    else if (event.type === "result") {
      await running.leave();
      return resultOf(event, host);
    }
  }
  throw await running.ended();
};

function argumentsOf({ agent, gateway, model, session: before, hasOwnTools }: AgentJob, session: string): string[] {
  const servers = { [OWN_SERVER]: { type: "stdio", ...gateway } };
  return [
    "--print",
    ...["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
    ...before === undefined ? ["--session-id", session] : ["--resume", session],
    ...["--mcp-config", JSON.stringify({ mcpServers: servers }), "--strict-mcp-config"],
    // Neither the user's settings nor a project's, with their hooks and servers.
    ...["--setting-sources", "", "--settings", JSON.stringify({ disableAllHooks: true })],
    ...["--allowedTools", `mcp__${OWN_SERVER}`],
    ...hasOwnTools ? ["--permission-prompt-tool", "stdio"] : ["--tools", ""],
    ...model ?? agent.model ? ["--model", (model ?? agent.model)!] : [],
  ];
}

interface Turns {
  count: number;
  /** The id of the answer that the last event was a part of. */
  last: unknown;
}

/** One answer of the model; an answer of several parts comes as several events. */
function heard({ id, usage, content }: Record<string, unknown>, turns: Turns, { meter, onNews }: AgentHost): void {
  if (turns.last === undefined || turns.last !== id) {
    turns.count++;
    turns.last = id ?? turns.count;
    meter.turn();
  }
  if (isObject(usage)) {
    const cached = countIn(usage.cache_read_input_tokens);
    const input = countIn(usage.input_tokens) + countIn(usage.cache_creation_input_tokens) + cached;
    meter.tokens(String(turns.count), { input, cached, output: countIn(usage.output_tokens) });
  }
  for (const part of Array.isArray(content) ? content : []) {
    if (isObject(part) && part.type === "text") onNews(String(part.text));
  }
}

interface Asked {
  readonly job: AgentJob;
  readonly host: AgentHost;
  readonly running: AgentProcess;
}

/** Answers the question whether a tool of the program may be used. */
async function permitted(event: Record<string, unknown>, { job, host, running }: Asked): Promise<void> {
  const { request_id, request } = event;
  const { subtype, tool_name, input } = isObject(request) ? request : {};
  if (subtype !== "can_use_tool") return;
  const given = isObject(input) ? input as JsonObject : {};
  const isAllowed = job.hasOwnTools && await host.permit(textIn(tool_name) ?? "tool", given).catch(() => false);
  const response = isAllowed
    ? { behavior: "allow", updatedInput: given }
    : { behavior: "deny", message: "It was not allowed." };
  const answer = { type: "control_response", response: { subtype: "success", request_id, response } };
  await running.write(`${JSON.stringify(answer)}\n`);
}

function resultOf(event: Record<string, unknown>, { meter }: AgentHost): string {
  if (typeof event.total_cost_usd === "number") meter.cost(countIn(event.total_cost_usd));
  const text = textIn(event.result);
  if (event.is_error !== true && text !== undefined) return text;
  throw new AgentCardsError("TOOL_FAILED", text ?? `it ended with ${textIn(event.subtype) ?? "an error"}`);
}
