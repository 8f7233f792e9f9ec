import assert from "node:assert/strict";
import { resolveServer, variablesIn, variablesNamedIn } from "../../src/config/expand.ts";
import type { ServerConfig } from "../../src/config/schema.ts";
import { AgentCardsError } from "../../src/model/errors.ts";

const server = (rest: Partial<ServerConfig>): ServerConfig => ({ name: "s", origin: "global", ...rest });

Deno.test("every part of a server is filled in, defaults where a variable is unset or empty", () => {
  const local = resolveServer(
    server({
      command: "${BIN}",
      args: ["--dir=${DIR:-/tmp}", "${A}${B}", "$A", "${}", "${1}"],
      env: { X: "${EMPTY:-fallback}", Y: "${A:-unused}", Z: "${UNSET:-}" },
      cwd: "${DIR:-/home}",
    }),
    { BIN: "node", A: "1", B: "2", EMPTY: "" },
  );
  assert.equal(local.command, "node");
  assert.deepEqual(local.args, ["--dir=/tmp", "12", "$A", "${}", "${1}"]);
  assert.deepEqual(local.env, { X: "fallback", Y: "1", Z: "" });
  assert.equal(local.cwd, "/home");
  const remote = resolveServer(server({ url: "https://${HOST}/", headers: { A: "Bearer ${T}" } }), {
    HOST: "h",
    T: "t",
  });
  assert.equal(remote.url, "https://h/");
  assert.deepEqual(remote.headers, { A: "Bearer t" });
});

Deno.test("a value is put in as it is, never looked through again", () => {
  const { args } = resolveServer(server({ command: "x", args: ["${A}"] }), { A: "${B} $& $1 $$", B: "secret" });
  assert.deepEqual(args, ["${B} $& $1 $$"]);
});

Deno.test("variables that are missing are all named, and what to do depends on whose server it is", () => {
  const text = { command: "${ONE}", args: ["${TWO}", "${ONE}", "${THREE:-x}"], env: { A: "${EMPTY}" } };
  const failure = (origin: ServerConfig["origin"]) => {
    try {
      resolveServer(server({ ...text, origin }), { EMPTY: "" });
    } catch (error) {
      assert.ok(error instanceof AgentCardsError);
      return error;
    }
    assert.fail("nothing was missing");
  };
  const global = failure("global");
  assert.equal(global.code, "CONFIG_INVALID");
  assert.equal(global.message, 'Cannot start server "s": ONE, TWO, EMPTY not set');
  assert.deepEqual(global.data, { missing: ["ONE", "TWO", "EMPTY"] });
  assert.match(global.hint!, /TWO=… and EMPTY=… to secrets\.env/);
  assert.match(failure("project").hint!, /do not see secrets\.env/);
});

Deno.test("names of the prototype are no variables", () => {
  for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
    assert.throws(() => resolveServer(server({ command: `\${${name}}` }), {}), { data: { missing: [name] } });
  }
});

Deno.test("credentials are known wherever they stand, by their names or their form", () => {
  const { secrets } = resolveServer(
    server({
      command: "x",
      args: ["--key=${API_KEY}", "${PLAIN}", "${DB_PASSWORD:-built-in-one}", "--dsn", "postgres://u:pass-in-dsn@h"],
      env: { GITHUB_TOKEN: "literal", NAME: "harmless", EMPTY_SECRET: "" },
    }),
    { API_KEY: "from-the-environment", PLAIN: "plain" },
  );
  const values = (place: string) => new Set(secrets.filter((one) => one.place === place).map(({ value }) => value));
  assert.deepEqual(values("servers.s.args"), new Set(["from-the-environment", "built-in-one", "pass-in-dsn"]));
  assert.deepEqual(values("servers.s.env"), new Set(["literal"]));
  const remote = resolveServer(
    server({
      url: "https://u:pass-in-url@h/?api_key=a-query-key",
      headers: { Authorization: "Bearer abc", Accept: "json" },
    }),
    {},
  );
  assert.deepEqual(remote.secrets.map(({ value }) => value), ["abc", "pass-in-url", "a-query-key"]);
  const rules = { not: ["github_token"], also: ["NAME"] };
  const ruled = resolveServer(server({ command: "x", env: { GITHUB_TOKEN: "literal", NAME: "harmless" } }), {}, rules);
  assert.deepEqual(ruled.secrets, [{ name: "NAME", place: "servers.s.env", value: "harmless" }]);
});

Deno.test("what comes out is frozen through and through, and what went in is unchanged", () => {
  const given = server({ command: "${A}", args: ["${A}"], env: { A: "${A}" } });
  const resolved = resolveServer(given, { A: "a" });
  for (const part of [resolved, resolved.args, resolved.env, resolved.secrets]) assert.ok(Object.isFrozen(part));
  assert.deepEqual(given.args, ["${A}"]);
});

Deno.test("variablesIn() names those that have no default", () => {
  assert.deepEqual(variablesIn("${A} ${B:-x} $C ${D:-} ${E}"), ["A", "E"]);
});

Deno.test("variablesNamedIn() names those that have a default, too", () => {
  assert.deepEqual(variablesNamedIn(server({ command: "${A}", args: ["${B:-x}"], env: { X: "${A}${C}" } })), [
    "A",
    "B",
    "C",
  ]);
});
