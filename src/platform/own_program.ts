/** The words that start AgentCards: the compiled binary, or this Deno with this checkout, whichever program runs now. */
export function ownProgram(): string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  return [
    Deno.execPath(),
    "run",
    "--allow-all",
    "--no-prompt",
    "--quiet",
    "--cached-only",
    "--frozen",
    "--config",
    pathOf(new URL("../../deno.json", import.meta.url)),
    pathOf(new URL("../../main.ts", import.meta.url)),
  ];
}

/** By hand, since `node:url` would take longer to load than all the rest of `serve`. */
function pathOf({ pathname }: URL): string {
  const path = decodeURIComponent(pathname);
  return Deno.build.os === "windows" ? path.slice(1) : path;
}
