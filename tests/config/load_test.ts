import assert from "node:assert/strict";
import { joinAgents } from "../../src/config/agents/agents.ts";
import { type Home, locateHome } from "../../src/config/home.ts";
import { loadConfig } from "../../src/config/load.ts";
import { DEFAULTS } from "../../src/config/schema.ts";
import { findProject, trustProject } from "../../src/config/trust.ts";

interface Place extends AsyncDisposable {
  readonly home: Home;
  readonly project: string;
  write(text: string): Promise<void>;
  trust(): Promise<void>;
}

/** A home with a global file and a folder with a project's file. */
async function makePlace(global: string, project?: string): Promise<Place> {
  const dir = await Deno.makeTempDir();
  const home = locateHome({ HOME: dir });
  await Deno.mkdir(home.dir);
  await Deno.mkdir(`${dir}/p/.agentcards`, { recursive: true });
  await Deno.writeTextFile(home.config, global);
  const write = (text: string) => Deno.writeTextFile(`${dir}/p/.agentcards/config.yaml`, text);
  if (project !== undefined) await write(project);
  return {
    home,
    project: `${dir}/p`,
    write,
    trust: async () => await trustProject((await findProject(`${dir}/p`, home))!, home),
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

function assertFrozen(value: unknown, path = "it"): void {
  if (typeof value !== "object" || value === null) return;
  assert.ok(Object.isFrozen(value), `${path} can be changed`);
  for (const [key, item] of Object.entries(value)) assertFrozen(item, `${path}.${key}`);
}

/** The part of a policy that these tests leave alone. */
const USUAL_RULES = {
  preset: "standard",
  without: [],
  trusted: [],
  unattended: "ask",
  mode: "enforce",
  rules: [],
  checks: {},
};

Deno.test("without any file there are defaults, frozen through and through", async () => {
  await using place = await makePlace("");
  const { config, notes, project } = await loadConfig(place.home, place.project);
  assert.deepEqual(config, { servers: {}, agents: joinAgents(), routes: [], checks: {}, supervisors: [], ...DEFAULTS });
  assert.deepEqual([notes, project], [[], undefined]);
  assertFrozen(config);
});

Deno.test("a project's file does nothing until it is trusted, and any change asks again", async () => {
  await using place = await makePlace("servers: { g: { command: g } }", "servers: { p: { command: p } }");
  const names = async () => Object.keys((await loadConfig(place.home, place.project)).config.servers);
  assert.deepEqual(await names(), ["g"]);
  const { notes } = await loadConfig(place.home, place.project);
  assert.match(notes[0]!, /config\.yaml is not used until you run `agentcards trust`/);
  await place.trust();
  assert.deepEqual(await names(), ["g", "p"]);
  assert.deepEqual((await loadConfig(place.home, place.project)).notes, []);
  await place.write("servers: { p: { command: p, args: [x] } }");
  assert.deepEqual(await names(), ["g"]);
  await place.write("this: [is not");
  assert.deepEqual(await names(), ["g"], "nor does a broken one that nobody trusted");
});

Deno.test("what is used is the very text that was pinned, whatever becomes of the file meanwhile", async () => {
  const good = "servers: { p: { command: good } }\n";
  const evil = "servers: { p: { command: evil } }\n";
  await using place = await makePlace("", good);
  await place.trust();
  const seen = new Set<string>();
  for (let i = 0; i < 30; i++) {
    const loading = loadConfig(place.home, place.project);
    for (let swaps = 0; swaps < 4; swaps++) await place.write(swaps % 2 === 0 ? evil : good);
    const { p } = (await loading).config.servers;
    seen.add(p?.command ?? "none");
  }
  assert.ok(!seen.has("evil"), "an untrusted text was used");
});

Deno.test("a project tightens policy, sandbox and limits", async () => {
  await using place = await makePlace(
    "policy: { deny: ['a:*'], approve: ['b:*'] }\nsandbox: { minimum_level: 1 }\nlimits: { answer_tokens: 5000 }",
    "policy: { deny: ['c:*'], approve: ['d:*'], effects: { 'a:get': effectful, 'own:*': read }, pii: tokenize,\n" +
      "  pii_patterns: { badge: 'E\\d+' },\n" +
      "  speculate: { enabled: false, deny: ['e:*'], costs: { 'a:*': 2, 'f:*': 0.1 }, cost_usd: 0.05 } }\n" +
      "servers: { own: { command: x } }\nsandbox: { minimum_level: 2 }\n" +
      "limits: { answer_tokens: 1000, results_age: 1d }",
  );
  await place.trust();
  const { config } = await loadConfig(place.home, place.project);
  const effects = { "a:get": "effectful", "own:*": "read" };
  const pii = { pii: "tokenize", pii_patterns: { badge: "E\\d+" }, pii_allow: [] };
  const speculate = { enabled: false, deny: ["e:*"], allow: [], costs: { "a:*": 2, "f:*": 0.1 }, cost_usd: 0.05 };
  assert.deepEqual(config.policy, {
    deny: ["a:*", "c:*"],
    approve: ["b:*", "d:*"],
    effects,
    ...pii,
    speculate,
    allow: [],
    ...USUAL_RULES,
    twins: {},
  });
  assert.equal(config.sandbox.minimum_level, 2);
  assert.deepEqual(config.limits, { ...DEFAULTS.limits, answer_tokens: 1_000, results_age: 86_400_000 });
  assertFrozen(config);
});

Deno.test("a project never loosens them", async () => {
  await using place = await makePlace(
    "policy: { deny: ['a:*'], approve: ['b:*'], effects: { 'a:x': read }, pii: tokenize, pii_patterns: { a: x }, speculate: { enabled: false, deny: ['g:*'], costs: { 'a:*': 1 }, cost_usd: 0 } }\nsandbox: { minimum_level: 3 }\nlimits: { answer_tokens: 5000 }",
    "policy: { deny: [], approve: [], effects: { 'a:delete': read }, pii: off, pii_patterns: { a: y }, pii_allow: [b],\n" +
      "  speculate: { enabled: true, deny: [], allow: ['*'], costs: { 'a:*': 0 }, cost_usd: 9 } }\n" +
      "sandbox: { minimum_level: 0 }\n" +
      "limits: { answer_tokens: 100000, frame_bytes: 536870912, tools_per_server: 100000, results_age: 365d }",
  );
  await place.trust();
  const { config } = await loadConfig(place.home, place.project);
  const pii = { pii: "tokenize", pii_patterns: { a: "x" }, pii_allow: [] };
  const speculate = { enabled: false, deny: ["g:*"], allow: [], costs: { "a:*": 1 }, cost_usd: 0 };
  assert.deepEqual(config.policy, {
    deny: ["a:*"],
    approve: ["b:*"],
    effects: { "a:x": "read" },
    ...pii,
    speculate,
    allow: [],
    ...USUAL_RULES,
    twins: {},
  });
  assert.equal(config.sandbox.minimum_level, 3);
  assert.deepEqual(config.limits, { ...DEFAULTS.limits, answer_tokens: 5_000 });
});

Deno.test("engine and embeddings are refused in a project's file", async () => {
  for (
    const text of [
      "engine: { idle_exit: 1s }",
      "embeddings: { model: some/model }",
      "engine: {}",
      "database: postgres://x/y",
    ]
  ) {
    await using place = await makePlace("", text);
    await place.trust();
    await assert.rejects(loadConfig(place.home, place.project), {
      code: "CONFIG_INVALID",
      message: /engine, embeddings, cache, expose, .* belong into the global file/,
    });
  }
});

Deno.test("each server knows where it comes from, a trusted one of the same name stands for the global one", async () => {
  await using place = await makePlace(
    "servers: { a: { command: global }, b: { command: b } }",
    "servers: { a: { command: project }, constructor: { command: c } }",
  );
  await place.trust();
  const { servers } = (await loadConfig(place.home, place.project)).config;
  const folder = await Deno.realPath(place.project);
  assert.deepEqual(servers.a, { command: "project", name: "a", origin: "project", folder });
  assert.deepEqual(servers.b, { command: "b", name: "b", origin: "global", folder });
  assert.deepEqual(Object.keys(servers), ["a", "b", "constructor"]);
});

Deno.test("a broken global file is an error that names it", async () => {
  await using place = await makePlace("servers: [");
  await assert.rejects(loadConfig(place.home, place.project), {
    code: "CONFIG_INVALID",
    message: new RegExp(RegExp.escape(place.home.config)),
  });
});
