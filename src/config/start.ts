// The second door: for `serve` and the start of the engine. It pulls in no package.
export { harmlessVariables, variablesNamed } from "./environment.ts";
export {
  ensureHome,
  ensureSocketFolder,
  type Home,
  locateHome,
  requireOwnHome,
  requireOwnSocket,
  socketPath,
} from "./home.ts";
