/** As it was at the start: an update removes the file that is running, and the system then has no name for it. */
export const DENO: string = Deno.execPath();

/** The words that start AgentCards: this Deno with this installation, or with the one that takes its place by then. */
export function ownProgram(): string[] {
  return [
    DENO,
    "run",
    "--allow-all",
    "--no-prompt",
    "--quiet",
    "--cached-only",
    "--frozen",
    "--config",
    installedPath("deno.json"),
    installedPath("main.ts"),
  ];
}

/** A file beside `main.ts`. By hand, since `node:url` would take longer to load than all the rest of `serve`. */
export function installedPath(name: "deno.json" | "main.ts" | "stamp"): string {
  const found = name === "main.ts"
    ? new URL("../../main.ts", import.meta.url)
    : new URL(`../../${name}`, import.meta.url);
  const path = decodeURIComponent(found.pathname);
  return Deno.build.os === "windows" ? path.slice(1) : path;
}
