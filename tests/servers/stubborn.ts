// A server that ignores SIGTERM and the end of its input, and has a child that moved to a session of its own.
import { initialize, serve, text } from "./wire.ts";

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) Deno.addSignalListener(signal, () => {});

const daemon = new Deno.Command("setsid", { args: ["sleep", "1000"], stdin: "null", stdout: "null", stderr: "null" })
  .spawn();
daemon.unref();
setInterval(() => {}, 1_000);

await serve({
  initialize: (params) => initialize(params),
  "tools/list": () => ({
    tools: [{ name: "family", description: "Lists its processes", inputSchema: { type: "object" } }],
  }),
  "tools/call": () => text(JSON.stringify([Deno.pid, Deno.ppid, daemon.pid])),
}, true);
