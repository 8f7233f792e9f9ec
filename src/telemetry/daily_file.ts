import { fs, type FsFile } from "../platform/start.ts";
/** A log of one file per day, which only its owner may read. */
export interface DailyFile extends Disposable {
  write(line: string): void;
}

const DAY_MS = 86_400_000;
const NAME = /^agentcards-(\d{4}-\d{2}-\d{2})\.log$/;
const encoder = new TextEncoder();

/**
 * Opens the file of the day, and removes those older than `keptDays`. Nothing is synced: a line is written on the thread
 * that everybody waits for, and a slow disk would stop them all.
 */
export function openDailyFile(directory: string, keptDays: number): DailyFile {
  let day = "";
  let file: FsFile | undefined;

  function fileOf(today: string): FsFile {
    if (file && day === today) return file;
    file?.close();
    file = undefined;
    file = fs.openSync(`${directory}/agentcards-${today}.log`, { create: true, append: true, mode: 0o600 });
    day = today;
    removeOld(directory, Date.parse(today) - keptDays * DAY_MS);
    return file;
  }

  fileOf(dayOf(Date.now()));
  return {
    write(line) {
      const open = fileOf(dayOf(Date.now()));
      const bytes = encoder.encode(line);
      for (let at = 0; at < bytes.length;) at += open.writeSync(bytes.subarray(at));
    },
    [Symbol.dispose]() {
      file?.close();
      file = undefined;
    },
  };
}

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

function removeOld(directory: string, before: number): void {
  try {
    for (const { name } of fs.readDirSync(directory)) {
      const [, day] = NAME.exec(name) ?? [];
      if (day !== undefined && Date.parse(day) < before) fs.removeSync(`${directory}/${name}`);
    }
  } catch {
    // A log that grows older is no reason to fail.
  }
}
