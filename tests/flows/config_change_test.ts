// A configuration that is changed while clients are connected: taken up within 2 s, or refused and told.
import assert from "node:assert/strict";
import { stringify } from "yaml";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import {
  type ConfigInYaml,
  createTestHome,
  type TestHome,
  testServer,
  until,
  withPreset,
} from "../fixtures/gateway.ts";

const TAKEN_UP_MS = 2_000;

/** A configuration as it is saved. */
const save = (home: TestHome, config: unknown) =>
  Deno.writeTextFile(
    `${home.dir}/config.yaml`,
    typeof config === "string" ? config : stringify(withPreset(config as ConfigInYaml)),
  );

const toldOf = (client: RawClient, list: string) =>
  client.others.filter(({ method }) => method === `notifications/${list}/list_changed`).length;

const listed = async (client: RawClient) => {
  const { result } = await client.request("tools/list") as { result: { tools: { name: string }[] } };
  return result.tools.map(({ name }) => name);
};

const told = (result: { structuredContent?: unknown }) => JSON.stringify(result);

Deno.test("a saved configuration reaches a running client, and only changed servers are started again", async () => {
  const expose = { tools: "direct" };
  const kit = testServer("kit");
  const other = testServer("kit", "--name=other");
  await using home = await createTestHome({ expose, servers: { kit, other } });
  await using client = await connectClient(home);
  await using second = await connectClient(home);
  await Promise.all([listed(client), listed(second)]);
  const [kept, replaced] = [await client.call("kit__process"), await client.call("other__process")];
  const before = [toldOf(client, "tools"), toldOf(second, "tools")];

  // A call is under way on the server that is about to be replaced.
  const underWay = client.call("other__wait", { ms: 2_500 });
  const servers = { kit, other: { ...other, env: { NEW: "${NEW_TOKEN:-none}" } }, third: testServer("kit") };
  const since = performance.now();
  await save(home, { expose, servers });
  await until(
    "both clients hear that the list of tools changed",
    () => toldOf(client, "tools") > before[0]! && toldOf(second, "tools") > before[1]!,
    TAKEN_UP_MS,
  );
  assert.ok(performance.now() - since < TAKEN_UP_MS);
  assert.ok((await listed(client)).includes("third__echo"));
  assert.equal(textOf(await client.call("kit__process")), textOf(kept), "a server whose definition is the same stays");
  assert.notEqual(textOf(await client.call("other__process")), textOf(replaced));
  assert.match(told(await client.call("other__environment", { name: "NEW" })), /none/);
  assert.ok(!(await underWay).isError, "a call under way ends on the server of before");

  // A secret alone is a change, too.
  await Deno.writeTextFile(`${home.dir}/secrets.env`, "NEW_TOKEN=brand-new-value\n", { mode: 0o600 });
  await until(
    "the new value",
    async () => !/none/.test(told(await client.call("other__environment", { name: "NEW" }))),
    TAKEN_UP_MS,
  );
  assert.equal(textOf(await client.call("kit__process")), textOf(kept));

  // What is broken is told, and what was good before holds.
  await save(home, "servers:\n  kit:\n    comand: x\n");
  await until("the refusal", async () => /configuration_refused/.test(await home.log()), TAKEN_UP_MS);
  assert.equal(textOf(await client.call("kit__process")), textOf(kept));
  const status = await home.run(["status"]);
  assert.equal(status.code, 1);
  assert.match(status.stdout, /2 sessions go on with the last good configuration: .*servers\.kit\.comand/);

  // A rule holds for whoever is connected already.
  await save(home, { expose, servers: { kit }, policy: { deny: ["kit:echo"] } });
  await until("the rule", async () => !(await listed(client)).includes("kit__echo"), TAKEN_UP_MS);
  assert.match(told(await client.call("kit__echo", { text: "x" })), /may not be called/);
  assert.match(JSON.stringify(await client.request("tools/call", { name: "other__process" })), /no tool/);
  assert.equal(textOf(await client.call("kit__process")), textOf(kept));
});

Deno.test("a client that met a broken configuration works once it was mended, and a project's file once trusted", async () => {
  await using home = await createTestHome();
  await save(home, "servers: [");
  const project = `${home.dir}/project`;
  await Deno.mkdir(`${project}/.agentcards`, { recursive: true });
  await using client = await connectClient(home, { cwd: project });
  assert.match(textOf(await client.use("kit:echo", { text: "hi" })), /Cannot use .*config\.yaml/);
  await save(home, { servers: { kit: testServer("kit") } });
  const works = async (tool: string) => !(await client.use(tool, { text: "hi" })).isError;
  await until("the mended file works", () => works("kit:echo"), TAKEN_UP_MS);

  await Deno.writeTextFile(
    `${project}/.agentcards/config.yaml`,
    stringify({ servers: { local: testServer("kit", "--name=local") } }),
  );
  assert.equal((await home.run(["trust", "--yes"], { cwd: project })).code, 0);
  await until("the trusted server is there", () => works("local:echo"), TAKEN_UP_MS);
});
