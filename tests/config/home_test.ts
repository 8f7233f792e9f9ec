import assert from "node:assert/strict";
import { join } from "node:path";
import {
  ensureHome,
  ensureSocketFolder,
  locateHome,
  requireOwnHome,
  requireOwnSocket,
  socketPath,
} from "../../src/config/home.ts";

Deno.test("the home is AGENTCARDS_HOME, else a folder in HOME, and always an absolute path", () => {
  assert.equal(locateHome({ AGENTCARDS_HOME: "/x/y", HOME: "/h" }).dir, "/x/y");
  assert.equal(locateHome({ AGENTCARDS_HOME: "", HOME: "/h" }).config, "/h/.agentcards/config.yaml");
  assert.equal(locateHome({ HOME: "", USERPROFILE: "/u" }).dir, "/u/.agentcards");
  assert.equal(locateHome({ AGENTCARDS_HOME: "here/../there" }).dir, join(Deno.cwd(), "there"));
  assert.equal(locateHome({ AGENTCARDS_HOME: "/x/y/" }).data, "/x/y/data");
  assert.throws(() => locateHome({}), { code: "HOME_UNUSABLE" });
  assert.throws(() => locateHome({ HOME: "" }), { code: "HOME_UNUSABLE" });
});

Deno.test("every spelling of a home is one path, also before it exists", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  try {
    await Deno.mkdir(`${dir}/real/deep`, { recursive: true });
    await Deno.symlink(`${dir}/real`, `${dir}/link`);
    await Deno.symlink(`${dir}/real/deep`, `${dir}/far`);
    for (const spelled of ["link", "real/", "./real/deep/..", "//link/.", "far/..", "none/../link"]) {
      assert.equal(locateHome({ AGENTCARDS_HOME: `${dir}/${spelled}` }).dir, `${dir}/real`, spelled);
    }
    const before = locateHome({ AGENTCARDS_HOME: `${dir}/link/new/home` });
    assert.equal(before.dir, `${dir}/real/new/home`);
    await ensureHome(before);
    assert.equal(locateHome({ AGENTCARDS_HOME: `${dir}/link/new/home` }).dir, before.dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("ensureHome() makes folders that only their owner can enter, and mends an open one", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const home = locateHome({ AGENTCARDS_HOME: `${dir}/a/b` });
    await ensureHome(home);
    for (const folder of [home.dir, home.logs, home.results, home.backups]) {
      assert.equal((await Deno.stat(folder)).mode! & 0o777, 0o700, folder);
    }
    await Deno.chmod(home.dir, 0o755);
    await ensureHome(home);
    assert.equal((await Deno.stat(home.dir)).mode! & 0o777, 0o700);
    const left = (await Array.fromAsync(Deno.readDir(home.dir))).map(({ name }) => name).sort();
    assert.deepEqual(left, ["backups", "logs", "results"], "the probe is gone");
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("a home that cannot be made says so", async () => {
  const file = await Deno.makeTempFile();
  try {
    const home = locateHome({ AGENTCARDS_HOME: `${file}/home` });
    await assert.rejects(ensureHome(home), { code: "HOME_UNUSABLE", message: new RegExp(RegExp.escape(home.dir)) });
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("a socket path that is too long moves, the same for the same home", async () => {
  const short = locateHome({ AGENTCARDS_HOME: "/h" });
  assert.equal(await socketPath(short, {}), "/h/engine.sock");
  const long = locateHome({ AGENTCARDS_HOME: `/${"é".repeat(50)}` });
  const path = await socketPath(long, { XDG_RUNTIME_DIR: "/run/user/1" });
  assert.match(path, /^\/run\/user\/1\/agentcards-[0-9a-f]{16}\.sock$/);
  assert.equal(await socketPath(long, { XDG_RUNTIME_DIR: "/run/user/1" }), path);
  const other = locateHome({ AGENTCARDS_HOME: `/${"é".repeat(51)}` });
  assert.notEqual(await socketPath(other, { XDG_RUNTIME_DIR: "/run/user/1" }), path);
  const tooLong = `/${"x".repeat(120)}`;
  for (const env of [{ HOME: "/home/u" }, { HOME: "/home/u", XDG_RUNTIME_DIR: tooLong }]) {
    assert.match(await socketPath(long, env), /^\/home\/u\/\.agentcards-sockets\/agentcards-[0-9a-f]{16}\.sock$/);
  }
  for (const env of [{}, { HOME: tooLong, XDG_RUNTIME_DIR: tooLong }]) {
    await assert.rejects(socketPath(long, env), { code: "HOME_UNUSABLE", message: /too long/ });
  }
});

Deno.test("a socket folder that others can enter, or that is a link, is refused", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const home = locateHome({ AGENTCARDS_HOME: "/h" });
    await ensureSocketFolder("/h/engine.sock", home);
    await ensureSocketFolder(`${dir}/new/x.sock`, home);
    assert.equal((await Deno.stat(`${dir}/new`)).mode! & 0o777, 0o700);
    await Deno.chmod(`${dir}/new`, 0o755);
    await assert.rejects(ensureSocketFolder(`${dir}/new/x.sock`, home), { code: "HOME_UNUSABLE" });
    await Deno.mkdir(`${dir}/real`, { mode: 0o700 });
    await Deno.symlink(`${dir}/real`, `${dir}/link`);
    await assert.rejects(ensureSocketFolder(`${dir}/link/x.sock`, home), { code: "HOME_UNUSABLE" });
    await Deno.writeTextFile(`${dir}/file`, "");
    await assert.rejects(ensureSocketFolder(`${dir}/file/x.sock`, home), { code: "HOME_UNUSABLE" });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("a socket that others can have made or can use is refused before anybody connects", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  try {
    const home = locateHome({ AGENTCARDS_HOME: dir });
    const path = `${dir}/engine.sock`;
    const isRefused = (at = path) =>
      assert.throws(() => requireOwnSocket(at, home), { code: "HOME_UNUSABLE", hint: /chmod|AGENTCARDS_HOME/ });
    requireOwnSocket(path, home);
    using _listener = Deno.listen({ transport: "unix", path });
    await Deno.chmod(path, 0o600);
    requireOwnSocket(path, home);
    await Deno.chmod(path, 0o666);
    isRefused();
    await Deno.chmod(path, 0o600);
    // Reading the home is no harm to the socket, writing is.
    await Deno.chmod(dir, 0o755);
    requireOwnSocket(path, home);
    await Deno.chmod(dir, 0o777);
    isRefused();
    await Deno.chmod(dir, 0o700);
    await Deno.symlink(path, `${dir}/link.sock`);
    isRefused(`${dir}/link.sock`);
    await Deno.writeTextFile(`${dir}/file.sock`, "", { mode: 0o600 });
    isRefused(`${dir}/file.sock`);
    await Deno.mkdir(`${dir}/real`, { mode: 0o700 });
    await Deno.symlink(`${dir}/real`, `${dir}/folder`);
    using _other = Deno.listen({ transport: "unix", path: `${dir}/real/x.sock` });
    await Deno.chmod(`${dir}/real/x.sock`, 0o600);
    requireOwnSocket(`${dir}/real/x.sock`, home);
    isRefused(`${dir}/folder/x.sock`);
    requireOwnHome(home);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test({
  name: "a home and a socket of another user are refused",
  // Only root can give files away.
  ignore: Deno.uid() !== 0,
  async fn() {
    const dir = await Deno.realPath(await Deno.makeTempDir());
    try {
      const home = locateHome({ AGENTCARDS_HOME: dir });
      using _listener = Deno.listen({ transport: "unix", path: `${dir}/engine.sock` });
      await Deno.chmod(`${dir}/engine.sock`, 0o600);
      await Deno.chown(`${dir}/engine.sock`, 65534, 65534);
      assert.throws(() => requireOwnSocket(`${dir}/engine.sock`, home), { code: "HOME_UNUSABLE" });
      await Deno.chown(dir, 65534, 65534);
      assert.throws(() => requireOwnHome(home), { code: "HOME_UNUSABLE", message: /belongs to another user/ });
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
