import {
  type Backup,
  claudeCommands,
  type FileEdit,
  lookBack,
  openBackups,
  parseFile,
  record,
  reverse,
  runClaude,
  takeBack,
  type Undone,
} from "../../config/mod.ts";
import { messageOf, oneLine } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { claudeToAsk } from "./apply.ts";
import type { InitIo, InitOptions } from "./io.ts";
import { clientOf } from "./plan.ts";
import { jsonLine } from "../json_out.ts";

interface Step {
  readonly path: string;
  readonly client: string;
  readonly what: Undone | "failed";
  readonly reason?: string;
}

const WORDS: Readonly<Record<Step["what"], string>> = {
  restored: "restored byte for byte",
  edited: "was changed since: our entry taken out, the servers put back that were taken and are missing",
  nothing: "nothing of ours is in it",
  gone: "is gone; its old text is in the backup",
  failed: "could not be restored",
};

/** Takes back what `init` did to the clients' files, the newest change first. */
export async function undo(options: InitOptions, io: InitIo): Promise<number> {
  const { backups, damaged } = await openBackups(io.home);
  const client = options.client === undefined ? undefined : clientOf(options.client);
  const wanted = backups.filter(({ manifest }) => client === undefined || manifest.client === client);
  if (!options.json) { for (const dir of damaged) io.err(`Cannot use the backup ${dir}: its manifest is damaged\n`); }
  if (wanted.length === 0) {
    io.out(options.json ? jsonLine({ undone: [], damaged }) : "Nothing to undo.\n");
    return damaged.length > 0 ? 1 : 0;
  }
  if (!options.json && io.isTerminal && !options.yes && !options.dryRun) {
    const files = [...new Set(wanted.map(({ manifest }) => manifest.path))];
    io.out(`These files go back to what they were:\n${files.map((path) => `  ${path}\n`).join("")}`);
    if (!await io.confirm("Go on?")) return 1;
  }
  const steps: Step[] = [];
  for (const backup of wanted) steps.push(await undoOne(backup, options, io));
  report(steps, { options, io, damaged });
  return steps.some(({ what }) => what === "failed") || damaged.length > 0 ? 1 : 0;
}

async function undoOne(backup: Backup, { dryRun }: InitOptions, io: InitIo): Promise<Step> {
  const { path, client } = backup.manifest;
  try {
    const what = dryRun ? await lookBack(backup) : await undoNow(backup, io);
    if (!dryRun && what !== "gone") await record(backup, { undone: new Date().toISOString() });
    return { path, client, what };
  } catch (error) {
    return { path, client, what: "failed", reason: messageOf(error) };
  }
}

async function undoNow(backup: Backup, io: InitIo): Promise<Undone> {
  const { client, path, edit, cwd } = backup.manifest;
  const isClaude = client === "claude-code" && path.endsWith(".claude.json");
  const what = await lookBack(backup);
  const program = isClaude && what === "edited" ? await claudeToAsk(io) : undefined;
  if (!program) return await takeBack(backup);
  const now = parseFile(await fs.readTextFile(path), "json");
  await runClaude(claudeCommands(reverse(edit as FileEdit, now), now), { program, cwd, env: io.env });
  return what;
}

interface Reporting {
  readonly options: InitOptions;
  readonly io: InitIo;
  readonly damaged: readonly string[];
}

function report(steps: readonly Step[], { options, io, damaged }: Reporting): void {
  if (options.json) return io.out(jsonLine({ dry_run: options.dryRun, undone: steps, damaged }));
  for (const { path, what, reason } of steps) {
    const line = `${path}: ${options.dryRun ? "would be: " : ""}${WORDS[what]}${
      reason ? `: ${oneLine(reason, 300)}` : ""
    }\n`;
    if (what === "failed") io.err(line);
    else io.out(line);
  }
  io.out(`Your servers are still in ${io.home.config}; \`agentcards init\` moves them again.\n`);
}
