import { deepStrictEqual as assertEquals, match, ok } from "node:assert/strict";
import type { Source } from "../../../src/config/clients/client.ts";
import { readSource } from "../../../src/config/clients/find.ts";
import { fitName, type MoveOptions, planMoves } from "../../../src/config/clients/moves.ts";
import { SERVER_NAME } from "../../../src/model/tool.ts";

const OPTIONS: MoveOptions = {
  project: false,
  isNamed: false,
  secrets: {},
  env: {},
  known: { global: {}, project: {} },
};

function source(client: Source["client"], servers: Record<string, unknown>, scope: Source["scope"] = "user"): Source {
  const place = { client, scope, path: `/${client}-${scope}`, keys: ["mcpServers"], format: "json" } as const;
  return readSource(place, JSON.stringify({ mcpServers: servers }), { os: "linux", env: { HOME: "/h" }, cwd: "/p" });
}

Deno.test("planMoves() merges the same server and tells different ones apart", () => {
  const { moves } = planMoves([
    source("claude-code", { fs: { command: "a" }, gh: { command: "g" } }),
    source("claude-code", { gh: { command: "local" } }, "local"),
    source("cursor", { fs: { command: "a", disabled: true }, gh: { command: "other" } }),
    source("windsurf", { gh: { command: "third" } }),
  ], OPTIONS);
  assertEquals(moves.map(({ name, origins }) => [name, origins.length]), [
    ["fs", 2],
    ["gh", 1],
    ["gh-local", 1],
    ["gh-cursor", 1],
    ["gh-windsurf", 1],
  ]);
  assertEquals(moves[0]!.server, { command: "a", clients: ["claude-code", "cursor"] });
});

Deno.test("planMoves() makes every name fit, and different names stay different", () => {
  const names = ["File System", "File-System", "File/System", "日本", "workflow", "x".repeat(80), "-dash", "__"];
  const servers = Object.fromEntries(names.map((name, at) => [name, { command: `c${at}` }]));
  const { moves } = planMoves([source("claude-desktop", servers)], OPTIONS);
  assertEquals(new Set(moves.map(({ name }) => name)).size, names.length);
  for (const { name } of moves) {
    match(name, SERVER_NAME);
    ok(name !== "workflow");
  }
  assertEquals(fitName("File System"), "File-System");
});

Deno.test("planMoves() knows what our file has already", () => {
  const known = { global: { fs: { command: "a", disabled: true }, gh: { command: "mine" } }, project: {} };
  const { moves } = planMoves([source("cursor", { fs: { command: "a" }, gh: { command: "theirs" } })], {
    ...OPTIONS,
    known,
  });
  assertEquals(moves.map(({ name, isKnown }) => [name, isKnown]), [["fs", true], ["gh-cursor", false]]);
});

Deno.test("planMoves() leaves a project's servers unless asked, and never takes their credentials", () => {
  const project = source(
    "cursor",
    { a: { command: "a" }, b: { command: "b", env: { API_TOKEN: "literal" } } },
    "project",
  );
  assertEquals(planMoves([project], OPTIONS).moves, []);
  const { moves, stays, secrets } = planMoves([project], { ...OPTIONS, project: true });
  assertEquals(moves.map(({ name, target }) => [name, target]), [["a", "project"]]);
  match(stays[0]!.reason, /credential/);
  assertEquals(secrets, {});
});

Deno.test("planMoves() gives two values for one variable two names and says which variables have no value", () => {
  const { moves, secrets } = planMoves([
    source("cursor", {
      a: { command: "a", env: { API_TOKEN: "one" } },
      b: { command: "b", env: { API_TOKEN: "two", REGION: "${env:REGION}", KNOWN: "${env:KNOWN}" } },
      c: { command: "c", env: { API_TOKEN: "one" } },
    }),
  ], { ...OPTIONS, env: { KNOWN: "yes" } });
  assertEquals(moves.map(({ server }) => server.env!.API_TOKEN), ["${API_TOKEN}", "${API_TOKEN_2}", "${API_TOKEN}"]);
  assertEquals(secrets, { API_TOKEN: "one", API_TOKEN_2: "two" });
  assertEquals(moves[1]!.needs, ["REGION"]);
});
