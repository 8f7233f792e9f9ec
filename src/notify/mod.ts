// The door of this room: other rooms import this file only.
export type { Alert } from "./alert.ts";
export { type Alerts, type AlertSettings, createAlerts } from "./alerts.ts";
export { type Channel, sendTo } from "./channels.ts";
