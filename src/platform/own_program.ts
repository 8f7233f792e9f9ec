/** The words that start this very program again: the compiled binary, or this Deno with this checkout. */
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
    pathOf(new URL("./deno.json", Deno.mainModule)),
    pathOf(new URL(Deno.mainModule)),
  ];
}

/** By hand, since `node:url` would take longer to load than all the rest of `serve`. */
function pathOf({ pathname }: URL): string {
  const path = decodeURIComponent(pathname);
  return Deno.build.os === "windows" ? path.slice(1) : path;
}
