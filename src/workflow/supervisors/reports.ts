import { isObject, messageOf } from "../../model/mod.ts";
import { replaceFile } from "../../platform/mod.ts";
import { fs } from "../../platform/start.ts";
import { log } from "../../telemetry/mod.ts";

/** A report of a supervisor. */
export interface SupervisoryReport {
  readonly at: number;
  readonly supervisor: string;
  readonly scope: "run" | "project" | "system";
  /** The run, the folder, or `engine`. */
  readonly subject: string;
  readonly text: string;
  /** The actions that were taken. */
  readonly done: readonly string[];
}

export interface ReportBook {
  add(report: SupervisoryReport): void;
  /** The newest first; of one subject where it is named. */
  list(subject?: string): Promise<readonly SupervisoryReport[]>;
}

const MOST = 1_000;

/** Opens the file of reports; one that cannot be written is in the log alone. */
export function openReports(path: string): ReportBook {
  let reading: Promise<SupervisoryReport[]> | undefined;
  let writing: Promise<void> = Promise.resolve();
  const all = () => reading ??= read(path);

  async function added(report: SupervisoryReport): Promise<void> {
    const reports = await all();
    reports.push(report);
    reports.splice(0, reports.length - MOST);
    await replaceFile(path, reports.map((one) => `${JSON.stringify(one)}\n`).join(""), { mode: 0o600 });
  }

  return {
    add(report) {
      log("warning", "supervisory_report", { ...report, done: report.done.join(", ") });
      writing = writing.then(() => added(report)).catch((error) =>
        log("warning", "report_not_written", { path, reason: messageOf(error) })
      );
    },
    async list(subject) {
      await writing;
      return (await all()).filter((one) => subject === undefined || one.subject === subject).toReversed();
    },
  };
}

async function read(path: string): Promise<SupervisoryReport[]> {
  const text = await fs.readTextFile(path).catch(() => "");
  return text.split("\n").slice(-MOST - 1).flatMap((line) => {
    try {
      const found: unknown = JSON.parse(line);
      return isObject(found) && typeof found.text === "string" ? [found as unknown as SupervisoryReport] : [];
    } catch {
      return [];
    }
  });
}
