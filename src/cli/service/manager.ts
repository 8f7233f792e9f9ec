import { type Home, locateHome } from "../../config/mod.ts";
import { AgentCardsError, messageOf, oneLine, sha256 } from "../../model/mod.ts";
import { SYSTEM_PATH, systemProgram } from "../../platform/mod.ts";
import { Command, system } from "../../platform/start.ts";
import { join } from "node:path";
import { launchdPlist, type ServiceOptions, systemdUnit } from "./unit.ts";

/** The service manager of this machine's user. */
export interface Manager {
  readonly kind: "systemd" | "launchd";
  readonly name: string;
  /** The file that tells it of the engine. */
  readonly path: string;
  text(options: ServiceOptions): string;
  /** Has it read the file, start the engine, and start it again at each log-in. */
  enable(): Promise<void>;
  disable(): Promise<void>;
  isEnabled(): Promise<boolean>;
  isActive(): Promise<boolean>;
}

/** The manager for a home: one home is one service, and the usual home has the plain name. */
export async function serviceManager(home: Home = locateHome()): Promise<Manager> {
  const env = system.env();
  const user = env.HOME;
  if (!user || system.os === "windows") {
    throw new AgentCardsError("USAGE", "There is no service manager that AgentCards knows on this system", {
      hint: "Services are written for systemd and launchd. A client starts the engine by itself in any case.",
    });
  }
  const mark = home.dir === `${user}/.agentcards` ? "" : `-${(await sha256(home.dir)).slice(0, 8)}`;
  return system.os === "darwin" ? launchd(user, mark) : systemd(env.XDG_CONFIG_HOME ?? join(user, ".config"), mark);
}

function systemd(folder: string, mark: string): Manager {
  const name = `agentcards${mark}.service`;
  const ctl = (...args: string[]) => run("systemctl", ["--user", ...args]);
  return {
    kind: "systemd",
    name,
    path: join(folder, "systemd", "user", name),
    text: systemdUnit,
    async enable() {
      await requireDone(ctl("daemon-reload"));
      await requireDone(ctl("enable", name));
      await requireDone(ctl("restart", name));
    },
    disable: () => requireDone(ctl("disable", "--now", name)),
    isEnabled: async () => (await ctl("is-enabled", "--quiet", name)).code === 0,
    isActive: async () => (await ctl("is-active", "--quiet", name)).code === 0,
  };
}

function launchd(user: string, mark: string): Manager {
  const label = `dev.agentcards.engine${mark}`;
  const path = join(user, "Library", "LaunchAgents", `${label}.plist`);
  const domain = `gui/${system.uid()}`;
  const isLoaded = async () => (await run("launchctl", ["print", `${domain}/${label}`])).code === 0;
  const unload = async () => {
    if (await isLoaded()) await requireDone(run("launchctl", ["bootout", `${domain}/${label}`]));
  };
  return {
    kind: "launchd",
    name: label,
    path,
    text: (options) => launchdPlist(label, options),
    async enable() {
      await unload();
      await requireDone(run("launchctl", ["bootstrap", domain, path]));
    },
    disable: unload,
    isEnabled: isLoaded,
    isActive: isLoaded,
  };
}

interface Done {
  readonly code: number;
  readonly words: string;
}

const DEADLINE_MS = 30_000;

async function run(program: string, args: readonly string[]): Promise<Done> {
  // The manager is reached by the addresses of the user's session.
  const names = ["HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS"];
  const env = system.env();
  const given = Object.fromEntries(names.flatMap((name) => env[name] === undefined ? [] : [[name, env[name]]]));
  try {
    const { code, stderr } = await new Command(systemProgram(program), {
      args: [...args],
      clearEnv: true,
      env: { ...given, PATH: SYSTEM_PATH, LC_ALL: "C" },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
      signal: AbortSignal.timeout(DEADLINE_MS),
    }).output();
    return { code, words: oneLine(new TextDecoder().decode(stderr), 500) };
  } catch (error) {
    return { code: -1, words: `${program}: ${messageOf(error)}` };
  }
}

async function requireDone(done: Promise<Done>): Promise<void> {
  const { code, words } = await done;
  if (code === 0) return;
  throw new AgentCardsError("TOOL_FAILED", `The service manager refused: ${words || `exit code ${code}`}`, {
    hint: "It works in a session of the user's own: not under sudo, and not in a container without systemd.",
  });
}
