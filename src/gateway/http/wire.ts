import type { Channel, Line } from "../channel.ts";
import type { EngineConnection } from "../engine_client.ts";
import { pipe } from "../pipe.ts";

export type Message = Record<string, unknown>;

/** A client's messages to an engine and back; the engine may change in between, as it may behind `serve`. */
export interface Wire {
  send(message: Message): void;
  close(): void;
}

export type ConnectEngine = () => Promise<EngineConnection>;

/** `related`: the request that a message belongs to, where it belongs to one. */
export function openWire(connect: ConnectEngine, onMessage: (message: Message, related: unknown) => void): Wire {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const ended = Promise.withResolvers<void>();
  let onLine: ((line: Line) => void) | undefined;
  const client: Channel = {
    first: () => Promise.resolve(undefined),
    read(handler) {
      onLine = handler;
      return ended.promise;
    },
    write(line) {
      const { related, ...message } = JSON.parse(typeof line === "string" ? line : decoder.decode(line)) as Message;
      onMessage(message, related);
    },
    end: () => ended.promise,
    close: ended.resolve,
  };
  void pipe({ client, connect });
  return {
    send: (message) => onLine?.(encoder.encode(JSON.stringify(message))),
    close: ended.resolve,
  };
}
