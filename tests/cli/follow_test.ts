import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, testServer, until } from "../fixtures/gateway.ts";

interface Event {
  readonly seq: number;
  readonly kind: string;
}

const events = (text: string): Event[] => text.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));

Deno.test("runs show --follow prints every event of a run that another client started, once and in order", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit") },
    policy: { effects: { "kit:wait": "read", "kit:echo": "read" } },
  });
  await using client = await connectClient(home);
  const running = client.call("run_workflow", {
    tasks: [
      { id: "slow", tool: "kit:wait", arguments: { ms: 3_000 } },
      { id: "end", tool: "kit:echo", arguments: { text: "over" }, depends_on: ["slow"] },
    ],
  });
  let id: string | undefined;
  await until("the run is listed", async () => {
    const [first] = JSON.parse((await home.run(["runs", "--json"])).stdout);
    return (id = first?.id) !== undefined;
  });
  const { code, stdout } = await home.run(["runs", "show", id!, "--follow", "--json"]);
  assert.equal(code, 0);
  assert.equal(JSON.parse(textOf(await running)).status, "completed");
  const seen = events(stdout);
  assert.deepEqual(seen.map(({ seq }) => seq), seen.map((_, i) => i + 1));
  assert.deepEqual([seen.at(0)?.kind, seen.at(-1)?.kind], ["planned", "finished"]);

  const later = await home.run(["runs", "show", id!, "--follow"]);
  assert.match(later.stdout, /status +completed/, "a run that is over is shown at once");
});
