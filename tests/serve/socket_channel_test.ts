import assert from "node:assert/strict";
import net from "node:net";
import { socketChannel } from "../../src/serve/link/socket_channel.ts";

/** Sends lines to a channel whose reader takes 10 ms for each, and gives the share of the time that they took. */
async function shareOfTime(bytes: number, isCrowd = false): Promise<number> {
  const dir = await Deno.makeTempDir({ prefix: "ac-channel-" });
  const count = 6;
  const began: number[] = [];
  const done = Promise.withResolvers<void>();
  const server = net.createServer((socket) => {
    const channel = socketChannel(socket, 1_000_000);
    if (isCrowd) channel.neverRest!();
    void channel.read(() => {
      began.push(performance.now());
      while (performance.now() - began.at(-1)! < 10);
      if (began.length === count) done.resolve();
    });
  });
  await new Promise<void>((resolve) => server.listen(`${dir}/socket`, resolve));
  const client = net.connect(`${dir}/socket`);
  client.write(`${"x".repeat(bytes)}\n`.repeat(count));
  await done.promise;
  client.destroy();
  await new Promise((resolve) => server.close(resolve));
  await Deno.remove(dir, { recursive: true });
  return 10 * (count - 1) / (began.at(-1)! - began[0]!);
}

Deno.test("a connection with large lines gets a tenth of the time at most", async () => {
  assert.ok(await shareOfTime(300_000) < 1 / 10);
});

Deno.test("lines of the usual size are read as they come", async () => {
  // The best of some: the machine may take the time for others.
  const best = async (bytes: number, isCrowd?: boolean) => {
    const shares = [];
    for (let i = 0; i < 5; i++) shares.push(await shareOfTime(bytes, isCrowd));
    return Math.max(...shares);
  };
  assert.ok(await best(1_000) > 1 / 5);
  assert.ok(await best(300_000, true) > 1 / 5, "where several clients share a connection, large ones too");
});
