import { AgentCardsError, createTurns, sha256 } from "../model/mod.ts";
import { replaceFile } from "../platform/mod.ts";
import { join } from "node:path";
import { readRows } from "./record_file.ts";
import type { Recorder, Recording } from "./recorder.ts";
import { createSpanRecorder, readSpans, type SpanRecorder } from "./spans.ts";
import { type UndoReport, type UndoRequest, undoSpans } from "./undo.ts";

/** The files of a repository at every prompt of a client that works in it. */
export interface PromptSnapshots {
  /** Records them before the client does anything for a prompt of a conversation. */
  begins(folder: string, conversation: string): Promise<void>;
  /** Records them once the client has come to the end of its turn. */
  ends(conversation: string): Promise<void>;
  /** Takes back what clients did in a folder since the last prompt that was not taken back. */
  undo(folder: string, request: UndoRequest): Promise<UndoReport>;
}

interface Open {
  readonly spans: SpanRecorder;
  readonly name: string;
}

/** So many prompts of a repository are kept; the oldest go once there are twice as many. */
const KEPT = 20;

export function createPromptSnapshots(
  folder: string,
  { recorder, trim }: { recorder: Recorder; trim(root: string): Promise<void> },
): PromptSnapshots {
  const recorders = new Map<string, SpanRecorder>();
  const open = new Map<string, Open>();
  const inTurn = createTurns();
  const nameOf = async ({ root }: Recording) => `prompts-${(await sha256(root)).slice(0, 16)}`;
  const recordOf = (name: string) => join(folder, "prompts", `${name}.jsonl`);

  async function end(conversation: string): Promise<void> {
    const known = open.get(conversation);
    open.delete(conversation);
    await known?.spans.after(known.name);
  }

  return {
    begins: (cwd, conversation) =>
      inTurn(conversation, async () => {
        await end(conversation);
        const recording = await recorder.open(cwd);
        if (!("take" in recording)) return;
        const record = recordOf(await nameOf(recording));
        if (await trimmed(record)) {
          recorders.delete(record);
          await trim(recording.root);
        }
        const spans = recorders.getOrInsertComputed(record, () =>
          // Prompts of other windows may be under way.
          createSpanRecorder(record, () => recorder.open(cwd), { closesOthers: false }));
        const name = `prompt of ${new Date().toISOString()}`;
        await spans.before(name);
        open.set(conversation, { spans, name });
      }),
    ends: (conversation) => inTurn(conversation, () => end(conversation)),
    async undo(cwd, request) {
      const recording = await recorder.open(cwd);
      if (!("take" in recording)) {
        throw new AgentCardsError(
          "RUN_STATE",
          `Nothing is recorded in ${cwd}: ${recording.problem ?? "no git repository"}`,
        );
      }
      const name = await nameOf(recording);
      const { spans } = await readSpans(recordOf(name));
      const newest = spans.findLast(({ isUndone }) => !isUndone);
      if (!newest && !request.takesBack) {
        throw new AgentCardsError("RUN_STATE", `No prompt is recorded in ${recording.root} that could be undone`, {
          hint: "Files are recorded at every prompt once `agentcards hook install` was run.",
        });
      }
      const files = { record: recordOf(name), undo: join(folder, "undos", `${name}.json`) };
      return await undoSpans(recording, files, { ...request, task: newest?.task });
    },
  };
}

/** Leaves the newest spans of a record that has grown long. */
async function trimmed(path: string): Promise<boolean> {
  const { spans } = await readSpans(path);
  if (spans.length < 2 * KEPT) return false;
  const kept = new Set(spans.slice(-KEPT).map(({ number }) => number));
  const rows = (await readRows(path)).filter((row) =>
    row.kind === "begun" || ("span" in row ? kept.has(row.span) : row.spans.some((span) => kept.has(span)))
  );
  await replaceFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""), { mode: 0o600 });
  return true;
}
