import { describe } from "../model/errors.ts";
import { TOO_LONG } from "../model/lines.ts";
import { createMemory, type Message } from "./_pipe_memory.ts";
import type { Channel } from "./channel.ts";
import type { EngineConnection } from "./engine_client.ts";
import { MAX_CLIENT_FRAME } from "./hello.ts";

export interface PipeOptions {
  readonly client: Channel;
  connect(): Promise<EngineConnection>;
}

const SHORT_LIFE_MS = 500;
const LOST =
  "AgentCards' engine went away during this call. It may or may not have had an effect; the next call works again.";

/**
 * Copies frames between a client and the engine, and outlives the engine: it remembers the handshake, the open
 * subscriptions and the requests in flight, so that when the engine goes, those requests get an error that says so and
 * the next engine is told what it needs to know. It imports neither the SDK nor the database.
 */
export async function pipe({ client, connect }: PipeOptions): Promise<void> {
  const memory = createMemory();
  let engine: Channel | undefined;
  let clientGone = false;
  /** What the client said while there was no engine. */
  let waiting: Uint8Array[] = [];
  /** Wakes the engine side after nothing could be reached. */
  let nextFrame: (() => void) | undefined;

  const answer = (replies: Message[]) => {
    for (const reply of replies) client.write(JSON.stringify({ jsonrpc: "2.0", ...reply }));
  };

  /** One engine's life: bring it up to date, copy what it says until it goes. */
  async function serveFrom({ channel }: EngineConnection): Promise<void> {
    for (const frame of memory.replay()) channel.write(frame);
    for (const frame of waiting.splice(0)) channel.write(frame);
    engine = channel;
    await channel.read((line) => {
      if (line === TOO_LONG) return;
      const passOn = memory.isQuiet() || !memory.isReplayed(line);
      if (passOn) client.write(line);
      memory.noteAnswer(line);
    });
    engine = undefined;
  }

  async function copyFromEngines(): Promise<void> {
    while (!clientGone) {
      try {
        const engine = await connect();
        if (clientGone) return engine.channel.close();
        const began = performance.now();
        await serveFrom(engine);
        if (clientGone) return;
        answer(memory.fail(LOST));
        // One that left at once will leave again: not so fast.
        if (performance.now() - began < SHORT_LIFE_MS) {
          await new Promise((resolve) => setTimeout(resolve, SHORT_LIFE_MS));
        }
      } catch (error) {
        // Nothing answers and nothing could be started: everyone who waits is told why, and the next frame tries again.
        waiting = [];
        answer(memory.fail(describe(error)));
        await new Promise<void>((resolve) => nextFrame = resolve);
      }
    }
  }

  void copyFromEngines();
  await client.read((line) => {
    if (line === TOO_LONG) {
      answer([{ id: null, error: { code: -32600, message: `The frame is larger than ${MAX_CLIENT_FRAME} bytes` } }]);
      return;
    }
    if (engine) {
      engine.write(line);
      return memory.note(line);
    }
    memory.note(line, false);
    waiting.push(line.slice());
    nextFrame?.();
    nextFrame = undefined;
  });
  clientGone = true;
  await engine?.end();
}
