import { locateHome } from "../../config/mod.ts";
import { findHolder } from "../../db/mod.ts";
import { AgentCardsError } from "../../model/mod.ts";
import { ownProgram, replaceFile } from "../../platform/mod.ts";
import { fs } from "../../platform/start.ts";
import { dirname } from "node:path";
import { jsonLine } from "../json_out.ts";
import type { Terminal } from "../screen/terminal.ts";
import { type Manager, serviceManager } from "./manager.ts";
import { OURS } from "./unit.ts";

export interface InstallOptions {
  readonly memory: string;
  readonly cpu: string;
}

/** `agentcards service install`: the engine runs from log-in on, and is started again when it ends. */
export async function installService(options: InstallOptions, terminal: Terminal): Promise<number> {
  const home = locateHome();
  const manager = await serviceManager(home);
  const there = await ownText(manager);
  const text = manager.text({ ...options, program: ownProgram(), home: home.dir });
  await fs.mkdir(dirname(manager.path), { recursive: true });
  await replaceFile(manager.path, text, { mode: 0o644 });
  try {
    await manager.enable();
  } catch (error) {
    if (there === undefined) await fs.remove(manager.path);
    else await replaceFile(manager.path, there, { mode: 0o644 });
    throw error;
  }
  const holder = await findHolder(home.lock);
  terminal.out(`${manager.name} is installed: ${manager.path}\n`);
  if (holder && !await manager.isActive()) {
    terminal.out(`An engine (process ${holder.pid}) is running; the service takes over when that ends.\n`);
  }
  if (manager.kind === "systemd") {
    terminal.out("It starts when you log in. To have it from the start of the machine on: loginctl enable-linger\n");
  }
  return 0;
}

/** `agentcards service remove` */
export async function removeService(terminal: Terminal): Promise<number> {
  const manager = await serviceManager();
  if (await ownText(manager) === undefined) {
    terminal.out("No service is installed.\n");
    return 0;
  }
  await manager.disable();
  await fs.remove(manager.path);
  terminal.out(`${manager.name} is removed. Clients start the engine by themselves.\n`);
  return 0;
}

/** `agentcards service status`; the exit code is 0 for a service that runs. */
export async function serviceStatus({ json }: { readonly json?: boolean }, terminal: Terminal): Promise<number> {
  const manager = await serviceManager();
  const isInstalled = await ownText(manager) !== undefined;
  const enabled = isInstalled && await manager.isEnabled();
  const active = isInstalled && await manager.isActive();
  const { kind, name, path } = manager;
  if (json) terminal.out(jsonLine({ manager: kind, name, path, installed: isInstalled, enabled, active }));
  else if (!isInstalled) terminal.out("No service is installed: agentcards service install\n");
  else {
    const words = active ? "running" : enabled ? "waiting to be started" : "switched off";
    terminal.out(`${name}: ${words}\n${path}\n`);
  }
  return active ? 0 : 1;
}

/** True if the engine is started when the user logs in. */
export async function hasService(): Promise<boolean> {
  try {
    const manager = await serviceManager();
    return await ownText(manager) !== undefined && await manager.isEnabled();
  } catch {
    return false;
  }
}

/** The text of our file, undefined where there is none; an error where the file is somebody else's. */
async function ownText({ path }: Manager): Promise<string | undefined> {
  const text = await fs.readTextFile(path).catch((error) => {
    if (fs.isNotFound(error)) return undefined;
    throw error;
  });
  if (text === undefined || text.split("\n", 2).some((line) => line.includes(OURS))) return text;
  throw new AgentCardsError("USAGE", `${path} was not written by AgentCards`, {
    hint: "Look at the file; move it away if AgentCards is to have that name.",
  });
}
