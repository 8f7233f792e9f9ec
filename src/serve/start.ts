// The second door: for `serve` and the start of the engine. It pulls in no package.
export { type Activity, createActivity } from "./activity.ts";
export { lastShown } from "./handshake_cache.ts";
export type { Channel, Line } from "./link/channel.ts";
export { closeOnExec } from "./link/close_on_exec.ts";
export { connectEngine } from "./link/engine_client.ts";
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
  STARTS_AGAIN,
  type Welcome,
} from "./link/handshake.ts";
export { readExporter } from "./link/exporter_file.ts";
export { createHookFrames } from "./link/hook_frames.ts";
export { pipe } from "./link/pipe.ts";
export { socketChannel } from "./link/socket_channel.ts";
export { createSpool } from "./link/spool.ts";
export { stdioChannel } from "./link/stdio_channel.ts";
export { askingVariables } from "./link/variables.ts";
