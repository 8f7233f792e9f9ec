import assert from "node:assert/strict";
import { createTestHome, testServer } from "../fixtures/gateway.ts";
import { addSecrets, parseSecrets, readableByOthers, readSecrets } from "../../src/config/secrets.ts";

Deno.test("parseSecrets() reads what people write into .env files", () => {
  const text = String.raw`
# a comment
A=plain
  B = spaced out  
export C=exported
D="double \"quoted\" \n line"
E='single "quoted" \n'
F="an odd \escape"
G=has=equals==
H=hash#inside
I=value # a comment
J="quoted" # a comment
K='quoted # not a comment'   # a comment
L=
M=# only a comment
N="unfinished
9BAD=x
not a line
`;
  const secrets = parseSecrets(text.replaceAll("\n", "\r\n"));
  assert.deepEqual(Object.entries(secrets), [
    ["A", "plain"],
    ["B", "spaced out"],
    ["C", "exported"],
    ["D", 'double "quoted" \n line'],
    ["E", String.raw`single "quoted" \n`],
    ["F", String.raw`an odd \escape`],
    ["G", "has=equals=="],
    ["H", "hash#inside"],
    ["I", "value"],
    ["J", "quoted"],
    ["K", "quoted # not a comment"],
    ["L", ""],
    ["M", ""],
    ["N", '"unfinished'],
  ]);
});

Deno.test("whatever is added is read back, and what was there stays", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const path = `${dir}/secrets.env`;
    assert.deepEqual(await readSecrets(path), {});
    await addSecrets(path, {});
    await assert.rejects(Deno.stat(path), Deno.errors.NotFound);
    await Deno.writeTextFile(path, "# mine\nOLD=1");
    const odd = {
      QUOTES: `a"b'c\\d`,
      LINES: "a\nb\r\nc",
      HASH: "a # b",
      EDGES: "  a  ",
      LINE_SEPARATOR: "a\u2028b",
      EMOJI: "😀",
      EMPTY: "",
    };
    await addSecrets(path, odd);
    assert.deepEqual(await readSecrets(path), { OLD: "1", ...odd });
    await addSecrets(path, { OLD: "2" });
    assert.equal((await readSecrets(path)).OLD, "2", "the last one holds");
    assert.ok((await Deno.readTextFile(path)).startsWith("# mine\nOLD=1\n"));
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
    assert.deepEqual((await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name), ["secrets.env"]);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("readableByOthers() names the files that are", async () => {
  const dir = await Deno.makeTempDir();
  try {
    for (const [name, mode] of [["a", 0o600], ["b", 0o640], ["c", 0o604]] as const) {
      await Deno.writeTextFile(`${dir}/${name}`, "");
      await Deno.chmod(`${dir}/${name}`, mode);
    }
    const paths = ["a", "b", "c", "none"].map((name) => `${dir}/${name}`);
    assert.deepEqual(await readableByOthers(paths), paths.slice(1, 3));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("secrets that cannot be read are an error, not an empty list", async () => {
  const dir = await Deno.makeTempDir();
  try {
    await assert.rejects(readSecrets(dir), { code: "CONFIG_INVALID" });
  } finally {
    await Deno.remove(dir);
  }
});

Deno.test("the user's own servers see secrets.env, a trusted project's do not", async () => {
  const server = testServer("kit", "--name=${ONLY_IN_SECRETS}");
  await using home = await createTestHome({ servers: { own: server } });
  await Deno.writeTextFile(`${home.dir}/secrets.env`, "ONLY_IN_SECRETS=short\n", { mode: 0o600 });
  const project = `${home.dir}/project`;
  await Deno.mkdir(`${project}/.agentcards`, { recursive: true });
  await Deno.writeTextFile(`${project}/.agentcards/config.yaml`, JSON.stringify({ servers: { theirs: server } }));
  const run = (...args: string[]) => home.run(args, { cwd: project });
  assert.equal((await run("trust", "--yes")).code, 0);
  assert.deepEqual(await run("call", "own:echo", '{"text":"x"}'), { code: 0, stdout: "short: x\n", stderr: "" });
  const refused = await run("call", "theirs:echo", '{"text":"x"}');
  assert.match(refused.stderr, /Cannot start server "theirs": ONLY_IN_SECRETS not set/);
  assert.match(refused.stderr, /do not see secrets\.env/);
});
