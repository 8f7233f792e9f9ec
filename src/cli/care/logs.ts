import { locateHome } from "../../config/mod.ts";
import { AgentCardsError, oneLine, sanitise } from "../../model/mod.ts";
import { isAbout, linesOf, type LogLine, newestLogs } from "../../telemetry/mod.ts";
import { fs, system } from "../../platform/start.ts";
import { jsonLine } from "../json_out.ts";
import { painter, type Terminal } from "../screen/terminal.ts";

export interface LogsCommand {
  readonly follow?: boolean;
  readonly lines: number;
  readonly json?: boolean;
}

const LOOK_EVERY_MS = 300;
const LONGEST_VALUE = 1_000;

/** `agentcards logs [SERVER] [-f]` */
export async function logs(server: string | undefined, options: LogsCommand, terminal: Terminal): Promise<number> {
  const dir = locateHome().logs;
  const [last, before] = await newestLogs(dir);
  if (!last) {
    throw new AgentCardsError("USAGE", `There is no log in ${dir} yet`, {
      hint: "The engine writes one once it runs.",
    });
  }
  const isWanted = ({ fields }: LogLine) => server === undefined || isAbout(fields, server);
  const print = (line: LogLine) => terminal.out(options.json ? jsonLine(line) : lineText(line, terminal));
  let found = (await linesOf(`${dir}/${last}`)).lines.filter(isWanted);
  if (found.length < options.lines && before) {
    found = [...(await linesOf(`${dir}/${before}`)).lines.filter(isWanted), ...found];
  }
  found.slice(-options.lines).forEach(print);
  if (found.length === 0 && !options.follow) {
    terminal.err(
      server === undefined ? "The log is empty.\n" : `The log of these days says nothing about "${server}".\n`,
    );
  }
  if (!options.follow) return 0;
  await follow(dir, last, (line) => isWanted(line) && print(line));
  return 0;
}

/** Prints what is written from now on, in the file of each day, until the command is interrupted. */
async function follow(dir: string, file: string, print: (line: LogLine) => void): Promise<void> {
  let isOver = false;
  const stop = () => isOver = true;
  system.addSignalListener("SIGINT", stop);
  let [name, offset] = [file, (await fs.stat(`${dir}/${file}`)).size];
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    const { lines, end } = await linesOf(`${dir}/${name}`, offset).catch(() => ({ lines: [], end: offset }));
    lines.forEach(print);
    offset = end;
    const [latest] = await newestLogs(dir);
    if (latest && latest !== name) [name, offset] = [latest, 0];
  }
  system.removeSignalListener("SIGINT", stop);
}

const COLOURS = { error: "red", warn: "yellow", warning: "yellow", debug: "dim" } as const;

function lineText({ at, level, event, fields }: LogLine, { color }: Terminal): string {
  const paint = painter(color);
  const time = `${at.toLocaleDateString("sv")} ${at.toLocaleTimeString("sv")}`;
  const values = Object.entries(fields).map(([name, value]) =>
    `${name}=${oneLine(sanitise(typeof value === "string" ? value : JSON.stringify(value)), LONGEST_VALUE)}`
  );
  const style = Object.hasOwn(COLOURS, level) ? COLOURS[level as keyof typeof COLOURS] : undefined;
  const word = level.padEnd(7);
  return `${paint("dim", time)} ${style ? paint(style, word) : word} ${[sanitise(event), ...values].join(" ")}\n`;
}
