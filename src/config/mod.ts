// The door of this room: other rooms import this file only.
export { applyChange, lookBack, stillTrue, takeBack, type Undone } from "./clients/apply.ts";
export { type Backup, backUp, type Change, hashOf, openBackups, record, runId } from "./clients/backup.ts";
export { claudeCommands, findClaude, isClaudeRunning, runClaude } from "./clients/claude_cli.ts";
export {
  CLIENT_NAMES,
  type ClientId,
  type Machine,
  OWN_NAME,
  type OwnCommand,
  ownEntry,
  type Problem,
  type ServerEntry,
  type Source,
} from "./clients/client.ts";
export { findServers, type Found } from "./clients/find.ts";
export {
  type HookInstall,
  hookKeyCheck,
  type HookKeys,
  newHookKey,
  readHookKeys,
  writeHookKeys,
} from "./clients/hook_keys.ts";
export { addHooks, HOOK_CLIENTS, type HookClient, hookEvents, hooksFile, removeHooks } from "./clients/hooks.ts";
export { extractSecrets, openVault } from "./clients/extract.ts";
export type { Item } from "./clients/item.ts";
export { type Move, type Moves, type Origin, originText, planMoves } from "./clients/moves.ts";
export { parseFile } from "./clients/parse.ts";
export { type CarriedRule, type Permissions, readPermissions } from "./clients/permissions.ts";
export { claudeSettings, managedPath } from "./clients/places.ts";
export { entryAt, type FileEdit, newlyAllowed, reverse, rewrite } from "./clients/rewrite.ts";
export { type AgentConfig, type AgentProtocol, requireAgent, type Route } from "./agents/agents.ts";
export type { Supervisor } from "./supervisors/supervisors.ts";
export { agentProgram, type Program, programsOf } from "./agents/programs.ts";
export { UNITS } from "./duration.ts";
export { harmlessVariables, isInherited, variablesNamed } from "./environment.ts";
export { joinPolicy } from "./join.ts";
export {
  databaseAddress,
  fillVariables,
  hasPlainPassword,
  type ResolvedServer,
  resolveServer,
  variablesNamedIn,
  variablesOf,
} from "./expand.ts";
export {
  ensureHome,
  ensureSocketFolder,
  type Home,
  locateHome,
  requireOwnHome,
  requireOwnSocket,
  socketPath,
} from "./home.ts";
export { loadConfig, type LoadedConfig, type Viewer } from "./load.ts";
export type { Check, Preset, Rule, RunCheck } from "./policy_schema.ts";
export { type PlacedServer, placeServer, startFolder } from "./place.ts";
export { programOf, scriptOf } from "./program.ts";
export { parseConfig, readConfigFile } from "./read.ts";
export { isPackageRunner, isRelativeCommand, relativeWord } from "./runner.ts";
export {
  type AllowList,
  type Config,
  type ConfigFile,
  DEFAULTS,
  type Limits,
  requireServer,
  type ServerConfig,
} from "./schema.ts";
export { type Secret, secretsIn } from "./secret_values.ts";
export { configPaths, createLook, type Look, stampOf } from "./stamp.ts";
export { editSecrets, keyringNames, putIntoKeyring, removeFromKeyring, SECRET_NAME, storedSecrets } from "./keyring.ts";
export { addSecrets, readableByOthers, readSecrets } from "./secrets.ts";
export { unusable } from "./tighten.ts";
export {
  findProject,
  forgetTrust,
  type ProjectFile,
  projectPlaces,
  sessionFolder,
  trustFolder,
  trustProject,
} from "./trust.ts";
export {
  type Additions,
  mergeConfig,
  removeServers,
  replaceFile,
  setDatabase,
  switchServer,
  writeConfig,
} from "./write.ts";
