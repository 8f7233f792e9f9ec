// The second door: the runtime's own API. It pulls in no package and no `node:` module.
export { type FileInfo, fs, type FsFile, type OpenOptions, SEEK_START } from "./fs.ts";
export { type Conn, net, type NetAddr } from "./net.ts";
export { type ChildProcess, Command, type CommandOutput, type CommandStatus, dlopen } from "./process.ts";
export { stdio } from "./stdio.ts";
export { type Signal, system, unrefTimer } from "./system.ts";
export { installation } from "./installation.ts";
export { ownProgram } from "./own_program.ts";
export { systemProgram } from "./system_program.ts";
export { VERSION } from "./version.ts";
