import type { RunProgress } from "../../control/mod.ts";
import { AgentCardsError } from "../../model/mod.ts";
import { system } from "../../platform/start.ts";
import { ask, type Question } from "../ask.ts";
import { canRedraw, createLiveLines } from "../screen/live_lines.ts";
import { questionTaker } from "../prompts/question.ts";
import type { RunAnswer } from "./answer.ts";
import { screen } from "../screen/screen.ts";
import { createTaskTree, type TaskTree, treeLines } from "./task_tree.ts";
import { painter, type Terminal } from "../screen/terminal.ts";

/** What came of watching: the run's answer, or that the human stopped the command. */
export type Watched<T = RunAnswer> = { readonly answer: T } | { readonly stopped: string | undefined };

const DRAW_EVERY_MS = 100;
const MOST_ROWS = 30;

/** Asks the engine to run something and shows its tasks until the run ends or pauses. */
export async function watchRun<T = RunAnswer>(
  question: Omit<Question, "onProgress">,
  terminal: Terminal | undefined,
): Promise<Watched<T>> {
  const tree = createTaskTree();
  const show = () => terminal && canRedraw(terminal.isTerminal) ? showLive(tree, terminal) : undefined;
  let picture = show();
  let isOver = false;
  const onQuestion = terminal && questionTaker(terminal, () => {
    picture?.end();
    picture = undefined;
    return { [Symbol.dispose]: () => picture = isOver ? undefined : show() };
  });
  const stop = Promise.withResolvers<Watched<T>>();
  const onInterrupt = () => stop.resolve({ stopped: tree.id() });
  system.addSignalListener("SIGINT", onInterrupt);
  try {
    const onProgress = (value: unknown) => tree.see(value as RunProgress);
    const answer = ask<T>({ ...question, onProgress, onQuestion });
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
