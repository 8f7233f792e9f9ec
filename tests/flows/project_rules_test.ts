// What a project's file forbids holds: without trust while the file is there, with trust until the trust is taken back.
import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, type TestHome, testServer } from "../fixtures/gateway.ts";

const CONFIG = { servers: { kit: testServer("kit") } };
const RULES = stringify({ policy: { deny: ["kit:ad*"], approve: ["kit:append"], pii: "tokenize" } });
const DENIED = /kit:add may not be called: policy\.deny has "kit:ad\*"/;

interface Project {
  readonly dir: string;
  readonly file: string;
  write(text: string): Promise<void>;
}

async function createProject(home: TestHome, text?: string): Promise<Project> {
  const dir = join(home.dir, "project");
  await Deno.mkdir(`${dir}/.agentcards`, { recursive: true });
  await Deno.mkdir(`${dir}/sub/.agentcards`, { recursive: true });
  const file = `${dir}/.agentcards/config.yaml`;
  const write = (now: string) => Deno.writeTextFile(file, now);
  if (text !== undefined) await write(text);
  return { dir, file, write };
}

const add = async (client: RawClient) => textOf(await client.use("kit:add", { a: 1, b: 2 }));
const tell = async (client: RawClient) => textOf(await client.use("kit:echo", { text: "ada@example.com" }));

/** The rules hold for a new session in a folder. */
async function assertHolds(home: TestHome, cwd: string, what: string): Promise<string> {
  await using client = await connectClient(home, { cwd });
  assert.match(await add(client), DENIED, what);
  assert.doesNotMatch(await tell(client), /ada@example/, what);
  const tasks = [{ id: "a", tool: "kit:add", arguments: { a: 1, b: 2 } }];
  assert.match(textOf(await client.call("run_workflow", { tasks })), /policy\.deny has/, what);
  assert.match(
    textOf(await client.call("execute_code", { code: "return await kit.add({a: 1, b: 2})" })),
    /policy\.deny has/,
    what,
  );
  const waiting = textOf(await client.use("kit:append", { file: `${home.dir}/x`, line: "y" }));
  assert.match(waiting, /needs a human's approval/, what);
  return textOf(await client.call("search_tools", { query: "echo" }));
}

async function assertFree(home: TestHome, cwd: string, what: string): Promise<void> {
  await using client = await connectClient(home, { cwd });
  assert.match(await add(client), /3/, what);
  assert.match(await tell(client), /ada@example/, what);
}

Deno.test("prj-001: a trusted file that changed by one byte keeps what it forbade", async () => {
  await using home = await createTestHome(CONFIG);
  const { dir, write } = await createProject(home, RULES);
  assert.equal((await home.run(["trust", "--yes"], { cwd: dir })).code, 0);
  await assertHolds(home, dir, "trusted");
  await write(`${RULES}# x\n`);
  await assertHolds(home, dir, "a comment more");
  await write("policy: {}\n");
  const notes = await assertHolds(home, dir, "emptied");
  assert.match(
    notes,
    /was trusted before and has changed: what the trusted text forbids holds until `agentcards trust/,
  );
  assert.match((await home.run(["status"], { cwd: dir })).stdout, /what the trusted text forbids holds until/);

  // Trusting the new text ends the old one.
  await home.run(["trust", "--yes"], { cwd: dir });
  await assertFree(home, dir, "trusted anew");
});

Deno.test("prj-002, prj-005: a trusted file that is gone, broken or a giant keeps what it forbade, until forgotten", async () => {
  await using home = await createTestHome(CONFIG);
  const { dir, file, write } = await createProject(home, RULES);
  await home.run(["trust", "--yes"], { cwd: dir });
  await Deno.remove(file);
  const notes = await assertHolds(home, dir, "gone");
  assert.match(notes, /config\.yaml is gone; what the trusted text forbids holds until `agentcards trust --forget`/);
  await write("this: [is not");
  assert.match(await assertHolds(home, dir, "broken"), /it is not YAML/);
  await write(`${RULES}${"#".repeat(1024 * 1024)}`);
  {
    await using client = await connectClient(home, { cwd: dir });
    for (const text of [await add(client), await tell(client)]) {
      assert.match(text, /Cannot use .*project\/\.agentcards\/config\.yaml: it is larger than 1 MB/);
    }
    assert.match((await home.run(["status"], { cwd: dir })).stdout, /it is larger than 1 MB/);
  }
  await Deno.remove(file);
  await assertHolds(home, dir, "gone again");
  const forgotten = await home.run(["trust", "--forget"], { cwd: dir });
  assert.match(forgotten.stdout, /config\.yaml is not trusted any more/);
  await assertFree(home, dir, "forgotten");
});

Deno.test("prj-003: a file in a sub folder takes nothing away from the one above it", async () => {
  await using home = await createTestHome(CONFIG);
  const { dir } = await createProject(home, RULES);
  await home.run(["trust", "--yes"], { cwd: dir });
  await Deno.writeTextFile(`${dir}/sub/.agentcards/config.yaml`, "policy: { deny: ['kit:rows'] }\n");
  await assertHolds(home, `${dir}/sub`, "below");
  await using client = await connectClient(home, { cwd: `${dir}/sub` });
  assert.match(textOf(await client.use("kit:rows", { count: 1 })), /policy\.deny has/, "and adds its own");
});

Deno.test("prj-004: what an untrusted file forbids holds while it is there, and nothing else of it", async () => {
  await using home = await createTestHome(CONFIG);
  const text = stringify({
    policy: { deny: ["kit:ad*"], approve: ["kit:append"], pii: "tokenize", effects: { "kit:*": "read" } },
    servers: { evil: { command: "touch", args: [`${home.dir}/evil`] } },
    expose: { tools: "direct" },
    anything: ["a newer version may know"],
  });
  const { dir, file, write } = await createProject(home, text);
  const notes = await assertHolds(home, dir, "untrusted");
  assert.match(notes, /is not used until you run `agentcards trust` in that folder, except for what it forbids/);
  await assertHolds(home, `${dir}/sub`, "from below");
  assert.equal(await Deno.stat(`${home.dir}/evil`).catch(() => "never ran"), "never ran");
  // One that is too long to be read by the way is read elsewhere.
  await write(`${text}# ${"x".repeat(200_000)}\n`);
  await assertHolds(home, dir, "long");
  await write(stringify({ policy: { deny: Array.from({ length: 600 }, (_, i) => `kit:x${i}`) } }));
  {
    await using client = await connectClient(home, { cwd: dir });
    assert.match(await tell(client), /untrusted files have more than 500 patterns/);
  }
  await Deno.remove(file);
  await assertFree(home, dir, "gone");
});

Deno.test("a sandbox level that an untrusted file wants is kept to", async () => {
  await using home = await createTestHome(CONFIG);
  const { dir } = await createProject(home, "sandbox: { minimum_level: 3 }\n");
  const status = JSON.parse((await home.run(["status", "--json"], { cwd: dir })).stdout);
  assert.equal(status.minimum_level, 3);
});
