import { deepStrictEqual as assertEquals, ok, throws } from "node:assert/strict";
import { join } from "node:path";
import { parseConfig } from "../../../src/config/read.ts";
import { mergeConfig, replaceFile, settleName, writeConfig } from "../../../src/config/write.ts";

const NONE = { servers: {}, deny: [], approve: [] };

Deno.test("mergeConfig() keeps comments, order and everything it does not know about", () => {
  const before = `# my servers
limits:
  answer_tokens: 5000 # small window
servers:
  # the first
  a: { command: a, args: ["-y", "x"] }
policy:
  deny: ["a:rm"] # never
`;
  const after = mergeConfig(before, {
    servers: { b: { url: "https://b", headers: { A: "${B}" } } },
    deny: ["a:rm", "b:*"],
    approve: ["b:x"],
  }, "c");
  for (
    const kept of [
      "# my servers\n",
      "5000 # small window",
      "  # the first\n",
      '  a: { command: a, args: [ "-y", "x" ] }',
      "# never",
    ]
  ) {
    ok(after.includes(kept), `${kept} in ${after}`);
  }
  assertEquals(parseConfig(after, "c"), {
    limits: { answer_tokens: 5000 },
    servers: { a: { command: "a", args: ["-y", "x"] }, b: { url: "https://b", headers: { A: "${B}" } } },
    policy: { deny: ["a:rm", "b:*"], approve: ["b:x"] },
  });
  assertEquals(mergeConfig(after, { servers: { b: { command: "other" } }, deny: ["b:*"], approve: [] }, "c"), after);
});

Deno.test("mergeConfig() starts an empty file and refuses a broken one", () => {
  const additions = {
    ...NONE,
    servers: { a: { command: "a", env: { N: "1", T: "true", S: "${X} # no comment: {}" } } },
  };
  assertEquals(parseConfig(mergeConfig("", additions, "c"), "c").servers, additions.servers);
  ok(mergeConfig("# only a comment\n", additions, "c").startsWith("# only a comment\n"));
  throws(() => mergeConfig("servers: [", additions, "c"), /Cannot use c/);
});

Deno.test("settleName() tells another definition apart and recognises the same", () => {
  const taken = { a: { command: "a" }, "a-cursor": { command: "b" } };
  assertEquals(settleName({ name: "a", server: { command: "a", disabled: true }, tags: ["cursor"] }, taken), "a");
  assertEquals(settleName({ name: "a", server: { command: "c" }, tags: ["cursor"] }, taken), "a-2");
  assertEquals(
    settleName({ name: "agentcards", server: { command: "c" }, tags: ["cursor"] }, taken),
    "agentcards-cursor",
  );
  assertEquals(
    settleName({ name: "x".repeat(64), server: { command: "c" }, tags: ["t"] }, { ["x".repeat(64)]: { command: "d" } })
      .length,
    64,
  );
});

Deno.test("replaceFile() keeps mode and symbolic link; writeConfig() is private from the first byte", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const [real, link] = [join(dir, "real"), join(dir, "link")];
    await Deno.writeTextFile(real, "old", { mode: 0o640 });
    await Deno.chmod(real, 0o640);
    await Deno.symlink(real, link);
    await replaceFile(link, new TextEncoder().encode("new"));
    assertEquals(await Deno.readTextFile(real), "new");
    ok((await Deno.lstat(link)).isSymlink);
    assertEquals((await Deno.stat(real)).mode! & 0o777, 0o640);
    await writeConfig(join(dir, "deep", "config.yaml"), "servers: {}\n");
    assertEquals((await Deno.stat(join(dir, "deep", "config.yaml"))).mode! & 0o777, 0o600);
    assertEquals((await Array.fromAsync(Deno.readDir(dir))).length, 3);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("mergeConfig() keeps every tool that was allowed, in rules of a hundred, each once", () => {
  const allow = Array.from({ length: 150 }, (_, i) => `a:t${i}`);
  const once = mergeConfig("", { ...NONE, servers: { a: { command: "a" } }, allow }, "c");
  const twice = mergeConfig(once, { ...NONE, allow: ["a:t149", "a:more"] }, "c");
  const rules = parseConfig(twice, "c").policy!.rules!;
  assertEquals(rules.map(({ name }) => name), [
    "allowed in the client before",
    "allowed in the client before (2)",
    "allowed in the client before (3)",
  ]);
  assertEquals(rules.flatMap(({ match }) => match), [...allow, "a:more"]);
  assertEquals(mergeConfig(twice, { ...NONE, allow }, "c"), twice);
});
