/** A program that this process starts. */
export const Command = Deno.Command;
export type Command = Deno.Command;

/** Opens a native library. */
export const dlopen = Deno.dlopen;

export type ChildProcess = Deno.ChildProcess;
export type CommandOutput = Deno.CommandOutput;
export type CommandStatus = Deno.CommandStatus;
