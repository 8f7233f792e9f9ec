import type { Session } from "../call/mod.ts";
import { serversSpokenOf } from "../code/mod.ts";
import { variablesOf } from "../config/mod.ts";
import { kindOf, type RunRow, type Task } from "../dag/mod.ts";
import { canonicalJson, OWN_SERVER, sha256, splitToolId, WORKFLOW_SERVER } from "../model/mod.ts";

/** True if a session can start everything that a run needs. */
export function canCarry(session: Session, { servers }: Pick<RunRow, "servers">): boolean {
  return servers.every((server) => session.unstartable(server) === undefined);
}

/** The servers that tasks call. */
export function serversOf(tasks: readonly Task[]): string[] {
  const names = tasks.flatMap((task) => kindOf(task).tools(task)).flatMap((tool) => splitToolId(tool).server ?? []);
  return [...new Set(names)].filter((name) => name !== OWN_SERVER && name !== WORKFLOW_SERVER).sort();
}

/** The needs of a run that goes on: its servers, the names of the variables that start them, and that all is as it was. */
export async function needsOf(session: Session, tasks: readonly Task[]) {
  const code = tasks.flatMap((task) => task.type === "code_execution" ? [task.code] : []).join("\n");
  const servers = [...new Set([...serversOf(tasks), ...code === "" ? [] : serversSpokenOf(session, code)])].sort();
  const variables = servers.flatMap((server) => variablesOf(session.config.servers[server]!));
  return { servers, variables: [...new Set(variables)], fingerprint: await fingerprintOf(session, servers) };
}

/** The hash of a run's circumstances: the definitions of its servers, and the policy. */
export async function fingerprintOf({ config }: Session, servers: readonly string[]): Promise<string> {
  return await sha256(canonicalJson([servers.map((name) => config.servers[name] ?? null), config.policy]));
}
