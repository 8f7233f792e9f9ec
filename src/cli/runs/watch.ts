import type { Result, RunProgress } from "../../control/mod.ts";
import { AgentCardsError } from "../../model/mod.ts";
import { system } from "../../platform/start.ts";
import { ask, type Question } from "../ask.ts";
import { canRedraw, createLiveLines } from "../screen/live_lines.ts";
import { questionTaker } from "../prompts/question.ts";
import { screen } from "../screen/screen.ts";
import { createTaskTree, type TaskTree, treeLines } from "./task_tree.ts";
import { painter, type Terminal } from "../screen/terminal.ts";

/** The control methods that tell the events of a run. */
export type RunMethod = "run" | "decide" | "observe";

/** The end of watching: the run's answer, or the id of the run where the human stopped the command. */
export type Watched<M extends RunMethod> = { readonly answer: Result<M> } | { readonly stopped: string | undefined };

const DRAW_EVERY_MS = 100;
const MOST_ROWS = 30;

/** Asks the engine to run something and shows its tasks until the run ends or pauses. */
export async function watchRun<M extends RunMethod>(
  question: Omit<Question<M>, "onProgress">,
  terminal: Terminal | undefined,
): Promise<Watched<M>> {
  const tree = createTaskTree();
  const show = () => terminal && canRedraw(terminal.isTerminal) ? showLive(tree, terminal) : undefined;
  let picture = show();
  let isOver = false;
  const onQuestion = terminal && questionTaker(terminal, () => {
    picture?.end();
    picture = undefined;
    return { [Symbol.dispose]: () => picture = isOver ? undefined : show() };
  });
  const stop = Promise.withResolvers<Watched<M>>();
  const onInterrupt = () => stop.resolve({ stopped: tree.id() });
  system.addSignalListener("SIGINT", onInterrupt);
  try {
    const onProgress = (value: RunProgress) => tree.see(value);
    const answer = ask({ ...question, onProgress, onQuestion } as Question<M>);
    return await Promise.race([answer.then((answer) => ({ answer })), stop.promise]);
  } catch (error) {
    throw lostOnTheWay(error, tree.id());
  } finally {
    system.removeSignalListener("SIGINT", onInterrupt);
    isOver = true;
    picture?.end();
  }
}

/** To start the run once more would do again what it has done already. */
function lostOnTheWay(error: unknown, id: string | undefined): unknown {
  if (!(error instanceof AgentCardsError) || error.code !== "ENGINE_UNREACHABLE" || id === undefined) return error;
  return new AgentCardsError(error.code, error.message, {
    hint: `What was done is kept. To go on:\n  agentcards runs resume ${id}`,
  });
}

function showLive(tree: TaskTree, terminal: Terminal): { end(): void } {
  const lines = createLiveLines(terminal.out);
  const paint = painter(terminal.color);
  let frame = 0;
  const draw = () => {
    const { columns, rows } = screen();
    const tasks = tree.tasks();
    if (tasks.length === 0) return;
    lines.draw(
      treeLines(tasks, { columns, rows: Math.min(MOST_ROWS, rows - 2), frame: frame++, now: Date.now(), paint }),
    );
  };
  const timer = setInterval(draw, DRAW_EVERY_MS);
  return {
    end() {
      clearInterval(timer);
      draw();
      if (tree.tasks().length > 0) terminal.out("\n");
    },
  };
}
