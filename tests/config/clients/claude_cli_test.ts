import { deepStrictEqual as assertEquals, ok, rejects } from "node:assert/strict";
import { join } from "node:path";
import { claudeCommands, findClaude, isClaudeRunning, runClaude } from "../../../src/config/clients/claude_cli.ts";
import { makeHome, writeFiles } from "./client_files.ts";

Deno.test("isClaudeRunning() finds it by its name and by its script", async () => {
  await using world = await makeHome({});
  const proc = join(world.cwd, "proc");
  await writeFiles(proc, {
    "1/comm": "systemd\n",
    "1/cmdline": "/sbin/init\0",
    "self/comm": "claude\n",
    "7/status": "",
  });
  assertEquals(await isClaudeRunning("linux", proc), false);
  await writeFiles(proc, { "8/comm": "node\n", "8/cmdline": "/usr/bin/node\0/x/claude-code/cli.js\0" });
  assertEquals(await isClaudeRunning("linux", proc), true);
  await Deno.remove(join(proc, "8"), { recursive: true });
  await writeFiles(proc, { "9/comm": "claude\n", "9/cmdline": "" });
  assertEquals(await isClaudeRunning("linux", proc), true);
});

Deno.test("claudeCommands() replaces an entry that is there and names the scope of each", () => {
  const own = { keys: ["mcpServers"], name: "agentcards", entry: { command: "a" } };
  const edit = {
    format: "json" as const,
    add: [own],
    remove: [{ keys: ["mcpServers"], name: "x", entry: {} }, {
      keys: ["projects", "/p", "mcpServers"],
      name: "y",
      entry: {},
    }],
  };
  const add = ["mcp", "add-json", "-s", "user", "agentcards", '{"command":"a"}'];
  const removals = [["mcp", "remove", "-s", "user", "x"], ["mcp", "remove", "-s", "local", "y"]];
  assertEquals(claudeCommands(edit, {}), [add, ...removals]);
  const now = { mcpServers: { agentcards: {} } };
  assertEquals(claudeCommands(edit, now), [["mcp", "remove", "-s", "user", "agentcards"], add, ...removals]);
});

Deno.test("runClaude() says what a failing command said, without the definition it was given", async () => {
  await using world = await makeHome({});
  const program = join(world.cwd, "claude");
  assertEquals(await findClaude({ PATH: world.cwd }), undefined);
  await Deno.writeTextFile(program, "#!/bin/sh\necho 'no such scope' >&2\nexit 3\n", { mode: 0o755 });
  assertEquals(await findClaude({ PATH: `/nowhere:${world.cwd}` }), program);
  const args = ["mcp", "add-json", "-s", "user", "x", '{"secret":"s3cr3t"}'];
  await rejects(runClaude([args], { program, cwd: world.cwd, env: {} }), (error: Error) => {
    ok(error.message.includes("no such scope"));
    ok(!error.message.includes("s3cr3t"));
    return true;
  });
});
