/** The standard streams, and the size of the terminal. */
export const stdio = {
  consoleSize: Deno.consoleSize,
  stderr: Deno.stderr,
  stdin: Deno.stdin,
  stdout: Deno.stdout,
} as const;
