// The door of this room: other rooms import this file only.
export { serveClient } from "./client_connection.ts";
export { forgetShown, lastShown } from "./handshake_cache.ts";
export { readBody } from "./http/body.ts";
export { listenHttp } from "./http/node_server.ts";
export { type HttpPlace, serveHttp } from "./http/server.ts";
export type { ConnectEngine } from "./http/wire.ts";
export type { Activity } from "./activity.ts";
export type { Channel, Line } from "./link/channel.ts";
export { channelPair } from "./link/channel_pair.ts";
export { closeOnExec } from "./link/close_on_exec.ts";
export { connectEngine, type ConnectOptions } from "./link/engine_client.ts";
export {
  type Hello,
  HELLO_TIMEOUT_MS,
  HOME_REFUSED,
  isHello,
  isNewer,
  isSpoken,
  LOST_ITS_HOME,
  LOST_THE_RACE,
  MAX_CLIENT_FRAME,
  PROTOCOL,
  type Welcome,
} from "./link/handshake.ts";
export { pipe } from "./link/pipe.ts";
export { socketChannel } from "./link/socket_channel.ts";
export { stdioChannel } from "./link/stdio_channel.ts";
export { askingVariables } from "./link/variables.ts";
export { instructionsFor } from "./protocol.ts";
export { TOOLS } from "./tools/all.ts";
