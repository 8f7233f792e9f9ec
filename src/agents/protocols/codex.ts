import { AgentCardsError, isObject, OWN_SERVER } from "../../model/mod.ts";
import type { AgentHost, AgentJob, Protocol } from "../job.ts";
import { countIn, objectsOf, startProgram, textIn } from "../program.ts";

/** Codex without a terminal: an event a line on stdout, the first of which names its session. */
export const codex: Protocol = async (job, host) => {
  await host.onSession(job.session ?? "", job.session !== undefined);
  await using running = await startProgram(job, argumentsOf(job), host);
  await running.write(job.prompt);
  running.finish();
  let text: string | undefined;
  for await (const event of objectsOf(running.process)) {
    const { type, thread_id, item, usage } = event;
    if (type === "thread.started" && typeof thread_id === "string") await host.onSession(thread_id, true);
    else if (type === "item.completed" && isObject(item)) text = heard(item, host) ?? text;
    else if (type === "turn.completed") counted(usage, host);
    else if (type === "turn.failed" || type === "error") throw failed(event);
  }
  if (text === undefined || !(await running.process.exited).success) throw await running.ended();
  return text;
};

function argumentsOf({ agent, gateway, model, session, folder, hasOwnTools }: AgentJob): string[] {
  const { command, args } = gateway;
  // Strings and lists of TOML are those of JSON.
  const entry = `{ ${OWN_SERVER} = { command = ${JSON.stringify(command)}, args = ${JSON.stringify(args)} } }`;
  const chosen = model ?? agent.model;
  return [
    ...["exec", "--json", "--skip-git-repo-check", "--cd", folder],
    ...["--sandbox", hasOwnTools ? "workspace-write" : "read-only"],
    ...["--config", 'approval_policy="never"', "--config", `mcp_servers=${entry}`],
    ...hasOwnTools ? [] : ["--config", "features.shell_tool=false"],
    ...chosen === undefined ? [] : ["--model", chosen],
    ...session === undefined ? [] : ["resume", session],
    "-",
  ];
}

/** One piece of work; the text of an answer. */
function heard({ type, text }: Record<string, unknown>, { meter, onNews }: AgentHost): string | undefined {
  if (type !== "reasoning") meter.turn();
  const said = type === "agent_message" ? textIn(text) : undefined;
  if (said !== undefined) onNews(said);
  return said;
}

let turns = 0;

function counted(usage: unknown, { meter }: AgentHost): void {
  if (!isObject(usage)) return;
  const { input_tokens, cached_input_tokens, output_tokens } = usage;
  const [input, cached, output] = [input_tokens, cached_input_tokens, output_tokens].map(countIn);
  meter.tokens(`turn ${++turns}`, { input: input!, cached: cached!, output: output! });
}

function failed({ error, message }: Record<string, unknown>): AgentCardsError {
  const said = isObject(error) ? error.message : message;
  return new AgentCardsError("TOOL_FAILED", textIn(said) ?? "the turn failed");
}
