import { deepStrictEqual as assertEquals } from "node:assert/strict";
import { join } from "node:path";
import { readPermissions } from "../../../src/config/clients/permissions.ts";
import { makeHome, writeFiles } from "./client_files.ts";

Deno.test("readPermissions() carries the rules of moved servers and shows hooks", async () => {
  await using world = await makeHome({});
  await writeFiles(world.home, {
    ".claude/settings.json": JSON.stringify({
      permissions: {
        allow: ["Bash(ls:*)", "mcp__github__list_issues", "mcp__other__x", "mcp__*"],
        deny: ["mcp__github__delete_*", "mcp__File_System", "mcp__git__hub__x", 5],
        ask: ["mcp__github__*", "mcp__gi*__push", "mcp__github__merge(branch:main)"],
      },
      hooks: {
        PreToolUse: [
          { matcher: "mcp__github__.*", hooks: [] },
          { matcher: "mcp__.*__write.*", hooks: [] },
          { matcher: "Bash", hooks: [] },
          { matcher: "mcp__agentcards__.*", hooks: [] },
          { hooks: [] },
        ],
      },
    }),
    ".claude/broken.json": "{",
  });
  const names = [["github", "github"], ["File System", "File-System"], ["git", "git-local"], ["git__hub", "hub"], [
    "git__hub",
    "hub-local",
  ]] as const;
  const paths = ["settings.json", "broken.json", "missing.json"].map((name) => join(world.home, ".claude", name));
  const { rules, hooks, problems } = await readPermissions(paths, names);
  assertEquals(rules.map(({ list, rule, pattern }) => [list, rule, pattern]), [
    ["allow", "mcp__github__list_issues", "github:list_issues"],
    ["deny", "mcp__github__delete_*", "github:delete_*"],
    ["deny", "mcp__File_System", "File-System:*"],
    ["deny", "mcp__git__hub__x", "hub:x"],
    ["deny", "mcp__git__hub__x", "hub-local:x"],
    ["ask", "mcp__github__*", "github:*"],
    ["ask", "mcp__gi*__push", "github:push"],
    ["ask", "mcp__gi*__push", "git-local:push"],
    ["ask", "mcp__gi*__push", "hub:push"],
    ["ask", "mcp__gi*__push", "hub-local:push"],
    ["ask", "mcp__github__merge(branch:main)", undefined],
  ]);
  assertEquals(hooks.map(({ matcher }) => matcher), ["mcp__github__.*", "mcp__.*__write.*"]);
  assertEquals(problems.map(({ path }) => path), [paths[1]]);
});
