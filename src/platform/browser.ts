import { pathToFileURL } from "node:url";
import { systemProgram } from "./system_program.ts";

/** The program of each system that opens a page in the browser of the person. */
const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  linux: ["xdg-open"],
  darwin: ["open"],
  windows: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** A program that opens nothing says so within this time. */
const QUIET_MS = 1_500;

/**
 * Opens a page in the browser; false where that cannot be. The program is one of the system, whatever `$BROWSER` says,
 * and gets the address as an argument of its own.
 */
export async function openPage(page: URL): Promise<boolean> {
  return page.protocol === "https:" || page.protocol === "http:" ? await open(page) : false;
}

/** Opens a page of our own that lies in a file. */
export async function openOwnPage(path: string): Promise<boolean> {
  return await open(pathToFileURL(path));
}

async function open(page: URL): Promise<boolean> {
  const [program, ...args] = OPENERS[Deno.build.os] ?? [];
  if (program === undefined) return false;
  const { BROWSER: _, ...env } = Deno.env.toObject();
  try {
    const opener = new Deno.Command(systemProgram(program), {
      args: [...args, page.href],
      env,
      clearEnv: true,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    opener.unref();
    const quiet = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), QUIET_MS));
    return (await Promise.race([opener.status, quiet]))?.success ?? true;
  } catch {
    return false;
  }
}
