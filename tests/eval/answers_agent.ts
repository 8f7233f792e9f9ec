// An agent that does exactly what it is told: it calls again unless it is told not to, and looks before it decides.
import { type RawClient, textOf, type ToolResult } from "../fixtures/client.ts";
import { sleep } from "../fixtures/gateway.ts";
import type { DagTask } from "./random_dag.ts";

interface Answer {
  readonly status: string;
  readonly workflow_id: string;
  readonly pending?: {
    readonly reason: string;
    readonly task?: string;
    readonly call?: { readonly arguments?: { readonly task: string } };
  };
}

/** What became of one workflow, as its agent saw it. */
export interface Story {
  /** Whether the one request that ran it was answered with the run's own end or pause. */
  readonly isReal: boolean;
  /** When that request was answered. */
  readonly answeredAt: number;
  readonly calledAgain: number;
  readonly status: string;
  /** The texts that were no answers. */
  readonly heard: readonly string[];
}

export interface AgentOptions {
  /** Whether an effect is there, as the agent finds out when it is told to look. */
  hasHappened(task: string): boolean;
}

/** Texts that tell an agent not to run something again. */
const FORBIDS = /do not run it again|do not call it again|look before|find out first/i;
const MOST_STEPS = 60;

export function createAgent(client: RawClient, { hasHappened }: AgentOptions) {
  const heard: string[] = [];
  let calledAgain = 0;

  const readAnswer = (result: ToolResult): Answer | undefined => {
    const text = textOf(result);
    if (!result.isError && text.startsWith("{")) return JSON.parse(text);
    heard.push(text.slice(0, 300));
    return undefined;
  };
  const resume = async (input: Record<string, unknown>) => readAnswer(await client.call("resume_workflow", input));

  /** The run that a forbidding text speaks of: the newest that is not over. */
  async function look(): Promise<Answer | undefined> {
    const listed = await resume({ action: "status" }) as { runs?: { workflow_id: string }[] } | undefined;
    const id = listed?.runs?.[0]?.workflow_id;
    return id === undefined ? undefined : await resume({ workflow_id: id, action: "status" });
  }

  /** The next step after an answer. */
  async function next({ workflow_id, status, pending }: Answer): Promise<Answer | undefined> {
    if (status === "running") {
      await sleep(20);
      return await resume({ workflow_id, action: "status" });
    }
    if (pending?.reason !== "in_doubt") return await resume({ workflow_id, action: "continue" });
    const { task, call } = pending;
    const happened = hasHappened(call?.arguments?.task ?? "");
    const decision = happened ? { outcome: "done", value: "by hand" } : { outcome: "retry" };
    return await resume({ workflow_id, action: "resolve", task, ...decision });
  }

  return {
    async run(tasks: readonly DagTask[]): Promise<Story> {
      const start = async () => readAnswer(await client.call("run_workflow", { tasks }));
      let answer = await start();
      const answeredAt = performance.now();
      const isReal = answer !== undefined && answer.pending?.reason !== "waiting" && answer.status !== "running";
      let last = answer;
      for (let steps = 0; steps < MOST_STEPS && answer?.status !== "completed"; steps++) {
        if (answer) answer = await next(answer);
        else if (last) answer = await resume({ workflow_id: last.workflow_id, action: "status" });
        else if (FORBIDS.test(heard.at(-1)!)) answer = await look();
        else {
          calledAgain++;
          answer = await start();
        }
        last = answer ?? last;
      }
      return { isReal, answeredAt, calledAgain, status: answer?.status ?? "unknown", heard };
    },
  };
}
