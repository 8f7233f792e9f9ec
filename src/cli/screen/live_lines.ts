import { system } from "../../platform/start.ts";
/** Lines at the end of a terminal that are drawn again and again in the same place. */
export interface LiveLines {
  draw(lines: readonly string[]): void;
}

/** Lines must fit the terminal: one that wraps takes more rows than the cursor goes back. */
export function createLiveLines(write: (text: string) => void): LiveLines {
  let drawn = 0;
  return {
    draw(lines) {
      const up = drawn > 0 ? `\x1b[${drawn}A` : "";
      write(`\r${up}${lines.map((line) => `\x1b[2K${line}\n`).join("")}\x1b[J`);
      drawn = lines.length;
    },
  };
}

/** Whether the terminal can move its cursor. */
export function canRedraw(isTerminal: boolean): boolean {
  return isTerminal && system.variable("TERM") !== "dumb";
}
