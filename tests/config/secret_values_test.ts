import assert from "node:assert/strict";
import { isSecretName, namedArguments, secretsIn } from "../../src/config/secret_values.ts";
import { holdsWord } from "../../src/config/words.ts";

const valuesOf = (name: string, value: string) => secretsIn({ name, value }, "here").map((secret) => secret.value);

Deno.test("settings are no secrets, wherever they stand", () => {
  const settings = {
    AWS_REGION: "eu-central-1",
    NODE_ENV: "production",
    MODEL: "claude-3-5-sonnet-20241022",
    SMALL_MODEL: "gpt-4o-mini-2024-07-18",
    SINCE: "2024-01-15T00:00:00Z",
    ADDRESS: "2001:db8:85a3::8a2e:370:7334",
    MAX_TOKENS: "100000",
    TOKENIZER: "cl100k_base_tokens",
    AUTH_ENABLED: "true",
    AUTH_TYPE: "client_credentials",
    GIT_AUTHOR_NAME: "Jane Doe Smith",
    KEYBOARD_LAYOUT: "de-nodeadkeys",
    GOOGLE_APPLICATION_CREDENTIALS: "/home/u/keys/account.json",
    PASSWORD_FILE: "/run/secrets/database",
    AUTH_URL: "https://login.example.com/oauth/authorize",
    IMAGE: "ghcr.io/github/github-mcp-server:v0.20.1",
    PACKAGE: "@modelcontextprotocol/server-github@2025.4.8",
    NODE_OPTIONS: "--max-old-space-size=4096",
    HOST: "redis-12345.c1.us-east-1-3.cloud.example.com:6379",
    ZONE: "northamerica-northeast1",
    MAIL: "bob1234567@example.com",
    SITE: "http://localhost:8080/@scope/name",
  };
  for (const [name, value] of Object.entries(settings)) assert.deepEqual(valuesOf(name, value), [], name);
});

Deno.test("a value whose name says so is a secret", () => {
  for (
    const name of [
      "GITHUB_TOKEN",
      "SIGNING_PASSPHRASE",
      "OPENAI_KEY",
      "X-Api-Key",
      "apiKey",
      "DB_PASS",
      "GITLAB_PAT",
      "MYSQL_PWD",
      "SESSION_COOKIE",
      "client_secret",
    ]
  ) {
    assert.ok(isSecretName(name), name);
    assert.deepEqual(valuesOf(name, "correct horse battery"), ["correct horse battery"], name);
  }
});

Deno.test("a long value of letters and digits without words is a secret under any name", () => {
  for (
    const value of [
      "sk-proj-4f9Kd82hGs71Lq0XzP3v",
      "550e8400-e29b-41d4-a716-446655440000",
      "9f86d081884c7d659a2feaa0c55ad015",
    ]
  ) {
    assert.deepEqual(valuesOf("SOMETHING", value), [value]);
    assert.deepEqual(valuesOf("SOMETHING", `Custom ${value}`), [value]);
  }
  assert.deepEqual(valuesOf("SOMETHING", "a1b2c3d4e5f6g7h"), [], "15 characters");
});

Deno.test("of an Authorization value the credential is the secret, and the password in it", () => {
  assert.deepEqual(valuesOf("authorization", "Bearer abc.def"), ["abc.def"]);
  assert.deepEqual(valuesOf("Authorization", "abc"), ["abc"]);
  const basic = btoa("user:open sesame");
  assert.deepEqual(valuesOf("Proxy-Authorization", `Basic ${basic}`), [basic, "open sesame"]);
});

Deno.test("of a URL the password, named parameters and random parts of the path are secrets", () => {
  const urls: Record<string, string[]> = {
    "postgres://bob:p%40ss@h:5432/db?sslmode=require": ["p@ss"],
    "postgres://bob:pa/ss@h/db": ["pa/ss"],
    "https://tokentoken@example.com/x": ["tokentoken"],
    "https://h/mcp?api_key=abcdefgh&region=eu-central-1": ["abcdefgh"],
    "https://hooks.example.com/services/T0001/xYz12AbCdEfGhIjKlMnOpQrS": ["xYz12AbCdEfGhIjKlMnOpQrS"],
    "jdbc:postgresql://h:5432/db?user=u&password=jdbc-password": ["jdbc-password"],
    "https://example.com:8443/mcp": [],
  };
  for (const [url, expected] of Object.entries(urls)) assert.deepEqual(valuesOf("ADDRESS", url), expected, url);
});

Deno.test("connection strings and JSON texts are looked at part by part", () => {
  assert.deepEqual(valuesOf("DATABASE", "Server=h;User ID=u;Password=open-sesame;Encrypt=true"), ["open-sesame"]);
  assert.deepEqual(valuesOf("DATABASE", "host=h user=u password='open sesame'"), ["open sesame"]);
  assert.deepEqual(
    valuesOf("ACCOUNT", '{"type":"service","auth":{"private_key":"open-sesame"}}').at(-1),
    "open-sesame",
  );
});

Deno.test("of a value of several lines each long line is a secret, too", () => {
  const [first, second] = ["MIIEvQIBADANBgkqhkiG9w0B", "AQEFAASCBKcwggSjAgEAAoIB"];
  const key = `-----BEGIN PRIVATE KEY-----\n${first}\n${second}\n-----END PRIVATE KEY-----`;
  assert.deepEqual(valuesOf("SIGNING_KEY", key), [key, first, second]);
});

Deno.test("arguments have the names of their options", () => {
  const args = [
    "-y",
    "package",
    "--dsn",
    "a://b",
    "--api-key=c",
    "-e",
    "NAME=d",
    "-H",
    "X-Key: e",
    "https://h/?x=y",
    "C:\\x",
  ];
  assert.deepEqual(namedArguments(args).filter(({ name }) => !name.startsWith("args")), [
    { name: "y", value: "package" },
    { name: "dsn", value: "a://b" },
    { name: "api-key", value: "c" },
    { name: "NAME", value: "d" },
    { name: "X-Key", value: "e" },
  ]);
});

Deno.test("words are told from random letters", () => {
  for (const text of ["production", "my-workspace-2024", "east", "EXAMPLE", "postgres"]) {
    assert.ok(holdsWord(text), text);
  }
  for (const text of ["xkqzvbnm", "9f86d081884c7d65beef", "aB3xQ9zKpL0mN7vT"]) assert.ok(!holdsWord(text), text);
});
