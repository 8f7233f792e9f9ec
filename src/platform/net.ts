/** Sockets and the HTTP server of the runtime. */
export const net = { connect: Deno.connect, serve: Deno.serve } as const;

export type Conn = Deno.Conn;
export type NetAddr = Deno.NetAddr;
