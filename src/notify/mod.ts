// The door of this room: other rooms import this file only.
export { createNotifier, type Notifier } from "./desktop.ts";
