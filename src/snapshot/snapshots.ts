import { AgentCardsError } from "../model/mod.ts";
import { join } from "node:path";
import { createPromptSnapshots, type PromptSnapshots } from "./prompts.ts";
import { pruneRepositories, pruneSnapshots } from "./prune.ts";
import { createRecorder } from "./recorder.ts";
import { createSpanRecorder, readSpans, type SpanRecorder } from "./spans.ts";
import { type UndoReport, type UndoRequest, undoSpans } from "./undo.ts";

/** The files of repositories before and after what changed them. */
export interface Snapshots {
  /** Records the files of a folder's repository around the acting tasks of a run. */
  ofRun(run: string, folder: string): SpanRecorder;
  /** Takes back what a run changed in its repository. */
  undo(run: string, request: UndoRequest): Promise<UndoReport>;
  /** Removes what is recorded of runs that `known` does not give back; the number of them. */
  prune(known: (runs: readonly string[]) => Promise<ReadonlySet<string>>): Promise<number>;
  /** The files at prompts of clients. */
  readonly prompts: PromptSnapshots;
}

/** Opens the folder of snapshots; nothing is made before something is recorded. */
export function createSnapshots(folder: string): Snapshots {
  const recorder = createRecorder(folder);
  const recordOf = (run: string) => join(folder, "runs", `${run}.jsonl`);
  return {
    ofRun: (run, cwd) => createSpanRecorder(recordOf(run), () => recorder.open(cwd)),
    prompts: createPromptSnapshots(folder, {
      recorder,
      trim: (root) => pruneRepositories(folder, recorder.alone, root),
    }),
    prune: (known) => pruneSnapshots({ folder, known, alone: recorder.alone }),
    async undo(run, request) {
      const { root } = await readSpans(recordOf(run));
      if (root === undefined) {
        throw new AgentCardsError("RUN_STATE", `No change of files is recorded for ${run}`, {
          hint: "Files are recorded in a git repository, around acting tasks of servers that run in its folder.",
        });
      }
      const recording = await recorder.open(root);
      if (!("take" in recording) || recording.root !== root) {
        const why = "problem" in recording && recording.problem ? recording.problem : "there is no repository any more";
        throw new AgentCardsError("SNAPSHOT_FAILED", `Cannot undo anything in ${root}: ${why}`);
      }
      const files = { record: recordOf(run), undo: join(folder, "undos", `${run}.json`) };
      return await undoSpans(recording, files, request);
    },
  };
}
