/** Something that takes long, while it goes on. */
export interface Progress {
  show(done: number, of: number, what: string): void;
  end(): void;
}

/** The part of cli-progress that is used; the package brings no types. */
interface Bar {
  start(total: number, value: number, payload: Payload): void;
  setTotal(total: number): void;
  update(value: number, payload: Payload): void;
  stop(): void;
}

interface Payload {
  readonly label: string;
  readonly what: string;
}

/** A bar on stderr while somebody watches; nothing otherwise. */
export async function startProgress(label: string, isTerminal: boolean): Promise<Progress> {
  if (!isTerminal) return { show() {}, end() {} };
  const { default: progress } = await import("cli-progress");
  const { stderr } = await import("node:process");
  const options = {
    stream: stderr,
    format: "{label} [{bar}] {value}/{total} {what}",
    hideCursor: false,
    clearOnComplete: true,
  };
  const bar = new progress.SingleBar(options, progress.Presets.shades_classic) as Bar;
  let isStarted = false;
  return {
    show(done, of, what) {
      if (!isStarted) bar.start(of, done, { label, what });
      isStarted = true;
      bar.setTotal(of);
      bar.update(done, { label, what });
    },
    end: () => isStarted ? bar.stop() : undefined,
  };
}
