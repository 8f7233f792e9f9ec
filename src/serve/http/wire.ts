import type { Channel, Line } from "../link/channel.ts";
import type { EngineConnection } from "../link/engine_client.ts";
import { MAX_CLIENT_FRAME } from "../link/handshake.ts";
import { pipe } from "../link/pipe.ts";

export type Message = Record<string, unknown>;

/** A client's messages to an engine and back; the engine may change in between, as it may behind `serve`. */
export interface Wire {
  send(message: Message): void;
  close(): void;
}

/** `isCrowd`: whether the connection carries the requests of many clients; `connection`: its name. */
export type ConnectEngine = (isCrowd: boolean, connection: string) => Promise<EngineConnection>;

/** `related`: the request that a message belongs to, where it belongs to one. */
export function openWire(
  connect: (connection: string) => Promise<EngineConnection>,
  onMessage: (message: Message, related: unknown) => void,
): Wire {
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
    send(message) {
      const line = encoder.encode(JSON.stringify(message));
      if (line.length <= MAX_CLIENT_FRAME) return onLine?.(line);
      // Written out, numbers can be longer than they came.
      const error = { code: -32600, message: `The message is larger than ${MAX_CLIENT_FRAME} bytes` };
      onMessage({ jsonrpc: "2.0", id: message.id, error }, undefined);
    },
    close: ended.resolve,
  };
}
