import { describe, TOO_LONG } from "../../model/start.ts";
import { createMemory, type Message } from "./pipe_memory.ts";
import type { Channel } from "./channel.ts";
import type { EngineConnection } from "./engine_client.ts";
import type { HookFrames } from "./hook_frames.ts";
import { type Again, MAX_CLIENT_FRAME, newConnection } from "./handshake.ts";

export interface PipeOptions {
  readonly client: Channel;
  /** `connection`: the name of the client's connection, the same for every engine. */
  connect(connection: string): Promise<EngineConnection>;
  /** Deals with the calls of the client's hooks; absent where the client is many. */
  readonly hooks?: HookFrames;
}

const SHORT_LIFE_MS = 500;

/**
 * Copies frames between a client and the engine, and outlives the engine: it remembers the handshake, the open
 * subscriptions and the requests in flight. The next engine is told the first two, silently, and sent the requests again;
 * it decides what becomes of them, since it alone knows effects. It imports neither the SDK nor the database.
 */
export async function pipe({ client, connect, hooks }: PipeOptions): Promise<void> {
  const memory = createMemory();
  const connection = newConnection();
  let engine: Channel | undefined;
  let clientGone = false;
  /** The frames that the client sent while there was no engine. */
  let waiting: Uint8Array[] = [];
  /** Wakes the engine side after nothing could be reached. */
  let nextFrame: (() => void) | undefined;

  const tell = (messages: Message[]) => {
    for (const message of messages) client.write(JSON.stringify({ jsonrpc: "2.0", ...message }));
  };

  /** One engine's life: bring it up to date, copy what it says until it goes. */
  async function serveFrom({ channel, takesAgain = false }: EngineConnection): Promise<void> {
    tell(memory.lost(!takesAgain));
    const { again, frames } = memory.replay();
    if (takesAgain) channel.write(JSON.stringify({ again } satisfies Again));
    for (const frame of frames) channel.write(frame);
    for (const frame of waiting.splice(0)) channel.write(frame);
    engine = channel;
    await channel.read((line) => {
      if (line === TOO_LONG || hooks?.takeAnswer(line)) return;
      if (!memory.isQuiet() && memory.isReplayed(line)) return;
      client.write(line);
      memory.noteAnswer(line);
    });
    engine = undefined;
    hooks?.leave();
  }

  async function copyFromEngines(): Promise<void> {
    while (!clientGone) {
      try {
        const engine = await connect(connection);
        if (clientGone) return engine.channel.close();
        const began = performance.now();
        await serveFrom(engine);
        if (clientGone) return;
        tell(memory.withdraw());
        // One that left at once will leave again: not so fast.
        if (performance.now() - began < SHORT_LIFE_MS) {
          await new Promise((resolve) => setTimeout(resolve, SHORT_LIFE_MS));
        }
      } catch (error) {
        // Nothing answers and nothing could be started: everyone who waits is told why, and the next frame tries again.
        waiting = [];
        tell(memory.fail(describe(error)));
        await new Promise<void>((resolve) => nextFrame = resolve);
      }
    }
  }

  void copyFromEngines();
  await client.read((line) => {
    if (line === TOO_LONG) {
      tell([{ id: null, error: { code: -32600, message: `The frame is larger than ${MAX_CLIENT_FRAME} bytes` } }]);
      return;
    }
    if (hooks?.take(line, engine)) return;
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
  hooks?.leave();
  await engine?.end();
}
