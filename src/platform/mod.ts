// The door of this room: other rooms import this file only.
export { readChecked, removeDrafts, renameSynced, replaceFile, syncPath, syncTree, writeChecked } from "./files.ts";
export { openOwnPage, openPage } from "./browser.ts";
export { type ExactStat, type ExactStats, exactStats } from "./exact_stat.ts";
export { ownProgram } from "./own_program.ts";
export { SYSTEM_PATH, systemProgram } from "./system_program.ts";
export { VERSION } from "./version.ts";
