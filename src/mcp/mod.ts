// The door of this room: other rooms import this file only.
export { connectHttp } from "./connect_http.ts";
export { connectStdio, type LargeMessage } from "./connect_stdio.ts";
export { fetchLists, readLists } from "./discover.ts";
export { MAX_LIST_BYTES, MAX_PAGE_ENTRIES } from "./list_bounds.ts";
export { missingProgram } from "./program.ts";
export { type Reaper, startReaper } from "./reaper.ts";
export { requestIdIn } from "./request_id.ts";
export { createServer, type Server, type ServerOptions, type ServerStatus } from "./server.ts";
export {
  canSignIn,
  type DeviceCode,
  keyOf,
  openTokenFile,
  type Revoked,
  signIn,
  signInByDevice,
  signOut,
  type TokenFile,
} from "./signin/mod.ts";
export type { Message } from "./stdio.ts";
export { type ServerProcess, spawnServer } from "./process.ts";
export { createTraffic, type Dropped, type Traffic } from "./traffic.ts";
export {
  type Era,
  isEra,
  type ListName,
  type ServerEvent,
  type Upstream,
  type UpstreamHandlers,
  type WhileAsked,
} from "./upstream.ts";
