import type { InitIo, ProbeResult } from "./init_io.ts";

/** The part of cli-progress that is used; the package brings no types. */
interface Bar {
  start(total: number, value: number, payload: { server: string }): void;
  increment(step: number, payload: { server: string }): void;
  stop(): void;
}

/** Starts every server once, with a bar on a terminal. */
export async function withProgress(servers: readonly string[], io: InitIo): Promise<readonly ProbeResult[]> {
  if (servers.length === 0) return [];
  if (!io.isTerminal) return await io.probe(servers, () => {});
  const bar = await makeBar();
  bar.start(servers.length, 0, { server: "" });
  try {
    return await io.probe(servers, ({ server }) => bar.increment(1, { server }));
  } finally {
    bar.stop();
  }
}

async function makeBar(): Promise<Bar> {
  const { default: progress } = await import("cli-progress");
  const { stderr } = await import("node:process");
  const options = {
    stream: stderr,
    format: "Starting servers [{bar}] {value}/{total} {server}",
    hideCursor: false,
    clearOnComplete: true,
  };
  return new progress.SingleBar(options, progress.Presets.shades_classic) as Bar;
}
