import { deepStrictEqual as assertEquals, ok } from "node:assert/strict";
import type { ServerEntry } from "../../../src/config/clients/client.ts";
import { isSecretName, looksRandom } from "../../../src/config/clients/credentials.ts";
import { extractSecrets, openVault } from "../../../src/config/clients/extract.ts";

function extract(name: string, server: ServerEntry): { server: ServerEntry; added: Record<string, string> } {
  const vault = openVault({ secrets: {}, env: {}, referenced: new Set() });
  return { server: extractSecrets(name, server, vault), added: vault.added };
}

Deno.test("extractSecrets() moves variables by their name and by the shape of their value", () => {
  const { server, added } = extract("x", {
    command: "x",
    env: {
      API_KEY: "short-one",
      LOG_LEVEL: "debug",
      GH: "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
      AWS_ACCESS_KEY_ID: "AKIAIOSFODNN7EXAMPLE",
      AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      OPAQUE: "Zm9vYmFyYmF6MTIzNDU2Nzg5MA",
      DATABASE_URL: "postgres://me:p4ss@db/x",
      PROJECT: "0f8fad5b-d9cb-469f-a165-70867728950e",
      TOKEN_LIMIT: "4000",
      AUTH_TYPE: "none",
      EMPTY_TOKEN: "",
      HOME_DIR: "/home/me/Documents/Projects2024/SomeVeryLongFolderName12",
      REFERENCE_TOKEN: "${REFERENCE_TOKEN}",
    },
  });
  assertEquals(server.env, {
    API_KEY: "${API_KEY}",
    LOG_LEVEL: "debug",
    GH: "${GH}",
    AWS_ACCESS_KEY_ID: "${AWS_ACCESS_KEY_ID}",
    AWS_SECRET_ACCESS_KEY: "${AWS_SECRET_ACCESS_KEY}",
    OPAQUE: "${OPAQUE}",
    DATABASE_URL: "postgres://me:${DATABASE_URL_PASSWORD}@db/x",
    PROJECT: "0f8fad5b-d9cb-469f-a165-70867728950e",
    TOKEN_LIMIT: "4000",
    AUTH_TYPE: "none",
    EMPTY_TOKEN: "",
    HOME_DIR: "/home/me/Documents/Projects2024/SomeVeryLongFolderName12",
    REFERENCE_TOKEN: "${REFERENCE_TOKEN}",
  });
  assertEquals(Object.keys(added).length, 6);
});

Deno.test("extractSecrets() keeps the scheme of a header and hides the rest", () => {
  const { server, added } = extract("my docs", {
    url: "https://example.com/mcp",
    headers: { Authorization: "Bearer abc-def-123", "X-Api-Key": "k-1", Accept: "application/json" },
  });
  assertEquals(server.headers, {
    Authorization: "Bearer ${MY_DOCS_TOKEN}",
    "X-Api-Key": "${MY_DOCS_X_API_KEY}",
    Accept: "application/json",
  });
  assertEquals(added, { MY_DOCS_TOKEN: "abc-def-123", MY_DOCS_X_API_KEY: "k-1" });
});

Deno.test("extractSecrets() finds credentials in arguments", () => {
  const { server } = extract("a", {
    command: "npx",
    args: [
      "-y",
      "@scope/package-with-a-long-name@2026.8.31",
      "--api-key",
      "one",
      "--token=two",
      "-e",
      "SLACK_TOKEN=xoxb-1234567890-abcdef",
      "--header",
      "Authorization: Bearer three-three",
      "--header",
      "Authorization:${ALREADY}",
      "postgresql://me:four@localhost/db",
      "--config",
      '{"apiKey":"five","n":1}',
      "--auth",
      "none",
      "--verbose",
    ],
  });
  assertEquals(server.args, [
    "-y",
    "@scope/package-with-a-long-name@2026.8.31",
    "--api-key",
    "${A_API_KEY}",
    "--token=${A_TOKEN}",
    "-e",
    "SLACK_TOKEN=${SLACK_TOKEN}",
    "--header",
    "Authorization: Bearer ${A_AUTHORIZATION}",
    "--header",
    "Authorization:${ALREADY}",
    "postgresql://me:${A_PASSWORD}@localhost/db",
    "--config",
    '{"apiKey":"${A_APIKEY}","n":1}',
    "--auth",
    "none",
    "--verbose",
  ]);
});

Deno.test("extractSecrets() finds credentials in URLs and in JSON inside a variable", () => {
  const { server } = extract("u", {
    url: "https://me:pw@h.example/mcp/s/0f8fad5b-d9cb-469f-a165-70867728950e?api_key=k1&page=2#x",
  });
  assertEquals(server.url, "https://me:${U_PASSWORD}@h.example/mcp/s/${U_TOKEN}?api_key=${U_API_KEY}&page=2#x");
  const json = extract("n", {
    command: "n",
    env: { HEADERS: '{"Authorization": "Bearer ntn_abc123456", "V": "2022-06-28"}' },
  });
  assertEquals(json.server.env, { HEADERS: '{"Authorization": "Bearer ${HEADERS}", "V": "2022-06-28"}' });
  assertEquals(json.added, { HEADERS: "ntn_abc123456" });
});

Deno.test("a vault gives another value another name and the same value the same one", () => {
  const vault = openVault({
    secrets: { OLD: "old", TAKEN: "something else" },
    env: { SHELL_TOKEN: "of the shell" },
    referenced: new Set(["MEANT"]),
  });
  assertEquals(vault.reference("a", "KEY"), "${KEY}");
  assertEquals(vault.reference("b", "KEY"), "${KEY_2}");
  assertEquals(vault.reference("a", "KEY"), "${KEY}");
  assertEquals(vault.reference("old", "OLD"), "${OLD}");
  assertEquals(vault.reference("new", "TAKEN"), "${TAKEN_2}");
  assertEquals(vault.reference("mine", "SHELL_TOKEN"), "${SHELL_TOKEN_2}");
  assertEquals(vault.reference("mine", "MEANT"), "${MEANT_2}");
  assertEquals(Object.keys(vault.added), ["KEY", "KEY_2", "TAKEN_2", "SHELL_TOKEN_2", "MEANT_2"]);
});

Deno.test("names and values that only look like credentials are left", () => {
  for (const name of ["TOKEN_LIMIT", "AUTH_TYPE", "PATH", "KEYBOARD", "MONKEY", "SECRET_FILE"]) {
    ok(!isSecretName(name), name);
  }
  for (const name of ["NOTION_KEY", "apiKey", "X-Api-Key", "password", "GITHUB_PAT", "COOKIE"]) {
    ok(isSecretName(name), name);
  }
  for (
    const text of ["mcp-server-filesystem-extended", "/usr/local/share/SomeThing/With0Digits", "2026-08-31T00:00:00"]
  ) {
    ok(!looksRandom(text), text);
  }
  ok(looksRandom("9f86d081884c7d659a2feaa0c55ad015"));
});
