// A home at a given place, whose every process can be found again, and whose effects are written down elsewhere.
import { stringify } from "yaml";
import { PROGRAM, sharedModels, type TestHome, testServer } from "../../fixtures/gateway.ts";
import { PATIENCE_MS } from "./kind.ts";
import { isEngine, killAll, processesUnder } from "./processes.ts";

/** One command of ours: `code` is undefined when it did not end in time. */
export interface Outcome {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

export interface FaultHome extends TestHome {
  /** The folder of the trials, on a file system without faults. */
  readonly root: string;
  /** The folder that clients work in. */
  readonly work: string;
  /** The file that every executed task is written to. */
  readonly oracle: string;
  command(args: readonly string[], ms?: number): Promise<Outcome>;
}

export interface Placed {
  readonly dir?: string;
  readonly env?: Record<string, string>;
}

export function faultHome(root: string, { dir = `${root}/home`, env: more = {} }: Placed = {}): FaultHome {
  const env = {
    ...Deno.env.toObject(),
    NO_COLOR: "1",
    AGENTCARDS_HOME: dir,
    // Both reach every process that the engine starts: the folder in them tells whose it is.
    PATH: `${Deno.env.get("PATH")}:${root}/none`,
    TMPDIR: `${root}/tmp`,
    ...more,
  };
  const work = `${root}/work`;
  const command = async (args: readonly string[], ms = PATIENCE_MS): Promise<Outcome> => {
    const began = performance.now();
    const child = new Deno.Command(PROGRAM[0]!, {
      args: [...PROGRAM.slice(1), ...args],
      env,
      cwd: work,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, ms);
    const { code, stdout, stderr } = await child.output();
    clearTimeout(timer);
    const decoder = new TextDecoder();
    return {
      code: isLate ? undefined : code,
      stdout: decoder.decode(stdout),
      stderr: decoder.decode(stderr),
      ms: Math.round(performance.now() - began),
    };
  };
  return {
    root,
    dir,
    env,
    work,
    oracle: `${root}/oracle`,
    command,
    run: async (args) => {
      const { code = -1, stdout, stderr } = await command(args, 60_000);
      return { code, stdout, stderr };
    },
    enginePid: () => Promise.resolve(processesUnder(root).find(isEngine)?.pid),
    log: () => Promise.resolve(""),
    [Symbol.asyncDispose]: () => killAll(root),
  };
}

/** Makes the folders beside the home and an empty oracle. */
export async function clearStage({ root, work, oracle }: FaultHome): Promise<void> {
  await Deno.mkdir(work, { recursive: true });
  await Deno.mkdir(`${root}/tmp`, { recursive: true });
  await Deno.writeTextFile(oracle, "");
}

/** Makes a home that has nothing but its configuration. */
export async function makeHome(home: FaultHome, servers: Record<string, unknown> = {}): Promise<void> {
  await clearStage(home);
  await Deno.mkdir(home.dir, { recursive: true, mode: 0o700 });
  const config = {
    servers: {
      worker: testServer("worker", `--log=${home.oracle}`),
      kit: testServer("kit"),
      other: testServer("kit", "--name=other"),
      ...servers,
    },
    limits: { runs: 100_000, concurrency: 1_000, server_concurrency: 1_000 },
    // The trials are not about the questions of presets, and their clients cannot be asked.
    policy: { preset: "minimal" },
  };
  await Deno.writeTextFile(`${home.dir}/config.yaml`, stringify(config), { mode: 0o600 });
  await Deno.symlink(await sharedModels(), `${home.dir}/models`);
}

/** The words of a command, whichever way it said them. */
export function wordsOf({ code, stdout, stderr, ms }: Outcome): string {
  return code === undefined ? `no end within ${ms} ms` : `exit ${code}: ${`${stdout} ${stderr}`.trim()}`;
}
