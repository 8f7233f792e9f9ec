import { connChannel } from "../../src/serve/link/conn_channel.ts";

export type Handlers = Readonly<Record<string, (params: never) => unknown>>;

export interface Rpc {
  ask<T>(method: string, params?: unknown): Promise<T>;
  readonly closed: Promise<void>;
  close(): void;
}

const MAX_LINE = 64 * 1024 * 1024;

/** Questions and answers in both directions over one connection, a line each. */
export function createRpc(conn: Deno.Conn, handlers: Handlers): Rpc {
  const channel = connChannel(conn, MAX_LINE);
  const decoder = new TextDecoder();
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;

  async function answer(id: number, method: string, params: unknown): Promise<void> {
    try {
      channel.write(JSON.stringify({ id, result: await handlers[method]!(params as never) ?? null }));
    } catch (error) {
      const { message, sqlState } = error as Error & { sqlState?: string };
      channel.write(JSON.stringify({ id, error: { message, sqlState } }));
    }
  }

  const closed = channel.read((line) => {
    const message = JSON.parse(decoder.decode(line as Uint8Array));
    if (message.method !== undefined) return void answer(message.id, message.method, message.params);
    const waiter = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error === undefined) waiter?.resolve(message.result);
    else waiter?.reject(Object.assign(new Error(message.error.message), { sqlState: message.error.sqlState }));
  }).finally(() => {
    for (const { reject } of waiting.values()) reject(new Error("the other side is gone"));
  });

  return {
    ask<T>(method: string, params: unknown = {}) {
      const waiter = Promise.withResolvers<unknown>();
      waiting.set(++last, waiter);
      channel.write(JSON.stringify({ id: last, method, params }));
      return waiter.promise as Promise<T>;
    },
    closed,
    close: channel.close,
  };
}
