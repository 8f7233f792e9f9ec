// The door of this room: other rooms import this file only.
export { type Dashboard, serveDashboard } from "./server.ts";
