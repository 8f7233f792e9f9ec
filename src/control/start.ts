// The second door: for the command line, which asks an engine. It pulls in no package.
export { askEngine, type ControlRequest, type TakeQuestion } from "./client.ts";
