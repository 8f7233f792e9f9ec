// The second door: for the command line, which asks an engine. It pulls in no package.
export { askEngine } from "./client.ts";
export type { ControlRequest, TakeQuestion } from "./link.ts";
