import assert from "node:assert/strict";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { atTerminal } from "../fixtures/terminal.ts";

const VALUE = 'kept "quoted" \\ canary-4711';

/** A program that tells which values it was given: their lengths, since the values themselves are redacted. */
const leaky = (more: Record<string, unknown> = {}) =>
  createTestHome({
    servers: {
      local: { ...testServer("leak", "--dsn", "postgres://u:dsn-password@h/d"), env: { LEAK_TOKEN: "${MY_TOKEN}" } },
    },
    ...more,
  });

async function answers(home: TestHome, env: Record<string, string> = {}): Promise<string> {
  await using client = await connectClient(home, { env });
  return JSON.stringify(await client.use("local:leak"));
}

Deno.test("a secret is set from stdin or a hidden prompt, reaches its server, and stands in no answer and list", async () => {
  await using home = await leaky();
  assert.match(await answers(home), /MY_TOKEN/, "not set yet");
  const set = await home.run(["secrets", "set", "MY_TOKEN"], { input: `${VALUE}\n` });
  assert.equal(set.code, 0, set.stderr);
  assert.ok(!`${set.stdout}${set.stderr}`.includes("canary"));
  const { mode } = await Deno.stat(`${home.dir}/secrets.env`);
  assert.equal(mode! & 0o777, 0o600);
  await until("the server with its secret", async () => /\[redacted\]/.test(await answers(home)));
  assert.ok(!(await answers(home)).includes("canary-4711"));
  assert.equal((await home.run(["secrets", "list"])).stdout, "MY_TOKEN\n");

  const { plain, code } = await atTerminal(home, ["secrets", "set", "OTHER"], {
    answers: [[/The value of OTHER/, "typed-canary\r"]],
  });
  assert.equal(code, 0, plain);
  assert.ok(!plain.includes("typed-canary"), "what is typed is not shown");
  assert.match(await Deno.readTextFile(`${home.dir}/secrets.env`), /OTHER="typed-canary"/);
  assert.deepEqual(JSON.parse((await home.run(["secrets", "list", "--json"])).stdout), [
    { name: "MY_TOKEN", store: "file" },
    { name: "OTHER", store: "file" },
  ]);
  const given = await home.run(["secrets", "set", "MY_TOKEN", "on-the-command-line"]);
  assert.notEqual(given.code, 0, "no value on a command line");
  assert.equal((await home.run(["secrets", "remove", "OTHER"])).code, 0);
  assert.equal((await home.run(["secrets", "remove", "OTHER"])).code, 1);
  assert.doesNotMatch(await Deno.readTextFile(`${home.dir}/secrets.env`), /OTHER/);
});

/** A keyring that is a folder of files; a value on its command line would be an argument too many. */
const KEYRING = `#!/bin/sh
dir=$(dirname "$0")/values; mkdir -p "$dir"
case "$1" in
  store) [ $# = 6 ] || exit 9; cat > "$dir/$6" ;;
  lookup) cat "$dir/$5" 2>/dev/null ;;
  clear) rm -f "$dir/$5" ;;
esac
`;

Deno.test("with secrets.store: keyring values lie in the system's keyring, and no file of the home has them", async () => {
  await using home = await leaky({ secrets: { store: "keyring" } });
  await Deno.mkdir(`${home.dir}-bin`);
  try {
    await Deno.writeTextFile(`${home.dir}-bin/secret-tool`, KEYRING, { mode: 0o755 });
    const env = { AGENTCARDS_SYSTEM_PATH: `${home.dir}-bin:/usr/bin:/bin` };
    const set = await home.run(["secrets", "set", "MY_TOKEN"], { input: VALUE, env });
    assert.equal(set.code, 0, set.stderr);
    assert.equal(await Deno.readTextFile(`${home.dir}-bin/values/MY_TOKEN`), VALUE);
    assert.equal((await home.run(["secrets", "list"], { env })).stdout, "MY_TOKEN (keyring)\n");
    const said = await answers(home, env);
    assert.match(said, /\[redacted\]/);
    assert.ok(!said.includes("canary-4711"));
    assert.match((await home.run(["status"], { env })).stdout, /secrets +.*MY_TOKEN|LEAK_TOKEN/);
    for await (const { name, isFile } of Deno.readDir(home.dir)) {
      if (isFile) assert.ok(!(await Deno.readTextFile(`${home.dir}/${name}`)).includes("canary-4711"), name);
    }
    assert.equal((await home.run(["secrets", "remove", "MY_TOKEN"], { env })).code, 0);
    await assert.rejects(Deno.stat(`${home.dir}-bin/values/MY_TOKEN`));
  } finally {
    await Deno.remove(`${home.dir}-bin`, { recursive: true });
  }
});
