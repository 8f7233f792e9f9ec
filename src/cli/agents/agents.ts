import { attachArguments } from "../../agents/mod.ts";
import { agentProgram, loadConfig, locateHome, requireAgent, resolveServer, storedSecrets } from "../../config/mod.ts";
import { AgentCardsError, oneLine } from "../../model/mod.ts";
import { Command, system } from "../../platform/start.ts";
import { ask } from "../ask.ts";
import { jsonLine } from "../json_out.ts";
import { runId } from "../runs/find.ts";
import { carryRun } from "../runs/run_loop.ts";
import { ago } from "../screen/relative_time.ts";
import { table } from "../screen/table.ts";
import { painter, type Terminal } from "../screen/terminal.ts";

/** `agentcards agents` */
export async function listAgents({ json }: { readonly json?: boolean }, terminal: Terminal): Promise<number> {
  const all = await ask({ method: "agents", params: {} });
  if (json) {
    terminal.out(jsonLine(all));
    return 0;
  }
  if (all.length === 0) {
    terminal.out("No agent program was found. Name one in `agents:` of config.yaml: docs/AGENTS.md.\n");
    return 0;
  }
  const rows = all.map(({ name, protocol, command, configured, problem, governed }) => [
    name,
    protocol,
    oneLine(command, 80),
    configured ? "config.yaml" : "found here",
    governed ? "yes" : "no",
    problem === null ? "ready" : oneLine(problem, 200),
  ]);
  const head = ["agent", "protocol", "command", "from", "governed", "state"];
  terminal.out(`${table([head, ...rows], painter(terminal.color).bind(null, "bold"))}\n`);
  return 0;
}

/** `agentcards agents reports` */
export async function showReports({ json }: { readonly json?: boolean }, terminal: Terminal): Promise<number> {
  const reports = await ask({ method: "supervisory_reports", params: {} });
  if (json) terminal.out(jsonLine(reports));
  else if (reports.length === 0) terminal.out("No supervisor has reported anything.\n");
  else {
    const lines = reports.map(({ at, supervisor, subject, text, done }) =>
      `${ago(at)}  ${supervisor}  ${oneLine(subject, 100)}  ${done.join(", ")}: ${oneLine(text, 500)}\n`
    );
    terminal.out(lines.join(""));
  }
  return 0;
}

const TEST_PROMPT = "This is a test of your connection. Answer with the one word: ready";

/** `agentcards agents test NAME`: a workflow of one task. */
export async function testAgent(
  name: string,
  { json, terminal }: { readonly json?: boolean; readonly terminal: Terminal },
): Promise<number> {
  const tasks = [{ id: "test", type: "agent", agent: name, prompt: TEST_PROMPT, budget: { minutes: 2 } }];
  const options = { snapshot: false };
  return await carryRun({ method: "run", params: { name: `agents test ${name}`, tasks, options } }, { json, terminal });
}

/** `agentcards agents attach RUN TASK`: the program of the task, in its session, with this terminal. */
export async function attach(
  [run, task]: readonly [string, string],
  { print }: { readonly print?: boolean },
  terminal: Terminal,
): Promise<number> {
  const { id, cwd, events, reports } = await ask({ method: "run_show", params: { id: await runId(run) } });
  const status = reports.find((one) => one.id === task)?.status;
  if (status === undefined) {
    throw new AgentCardsError("USAGE", `${id} has no task ${oneLine(task, 64)}`, {
      hint: `It has ${reports.map((one) => one.id).join(", ")}.`,
    });
  }
  if (status === "running") {
    throw new AgentCardsError("RUN_STATE", `The agent of ${task} is at work in its session`, {
      hint: `Wait for its end, or stop it: agentcards runs abort ${id}`,
    });
  }
  const last = events.findLast((event) => event.kind === "session" && event.task === task);
  if (last?.kind !== "session" || last.session === "") {
    throw new AgentCardsError("USAGE", `${task} of ${id} has no session of an agent`);
  }
  const planned = events.flatMap((event) => event.kind === "planned" ? event.tasks : []).findLast((one) =>
    one.id === task
  );
  const folder = planned?.type === "agent" && planned.cwd !== undefined ? planned.cwd : cwd;
  const { command, args, env } = await programOf(last.agent, last.session);
  if (print) {
    terminal.out(jsonLine({ command, args, folder, session: last.session }));
    return 0;
  }
  if (!terminal.isTerminal) throw new AgentCardsError("USAGE", "A session is opened in a terminal; --print shows how");
  const how = { args, cwd: folder, env, stdin: "inherit", stdout: "inherit", stderr: "inherit" } as const;
  const { code } = await new Command(command, how).spawn().status;
  return code;
}

async function programOf(name: string, session: string) {
  const env = system.env();
  const home = locateHome(env);
  const { config } = await loadConfig(home, system.cwd(), { viewer: "user", env });
  const agent = requireAgent(config.agents, name);
  const args = attachArguments(agent, session);
  const stored = await storedSecrets(home, env);
  const resolved = resolveServer(agentProgram(agent), { ...env, ...stored }, config.secrets);
  return { command: resolved.command!, args, env: resolved.env };
}
