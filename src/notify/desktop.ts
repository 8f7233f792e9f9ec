import { messageOf, oneLine } from "../model/mod.ts";
import { systemProgram } from "../platform/mod.ts";
import { Command, system } from "../platform/start.ts";
import { log } from "../telemetry/mod.ts";
import type { Alert } from "./alert.ts";

/** The desktop of the user, once a session has told where it is. */
export interface Desktop {
  /** A notice that cannot be shown costs nothing but a line in the log. */
  show(alert: Pick<Alert, "title" | "text">): void;
  /** Takes the desktop's address out of the environment of a session. */
  learn(env: Readonly<Record<string, string>>): void;
}

const PATIENCE_MS = 5_000;
const DESKTOP = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "HOME"];

export function createDesktop(): Desktop {
  let desktop: Readonly<Record<string, string>> | undefined;

  async function show(env: Readonly<Record<string, string>>, { title, text }: Pick<Alert, "title" | "text">) {
    const [program, args] = commandOf(oneLine(title, 100), oneLine(text, 300));
    const { code, stderr } = await new Command(systemProgram(program), {
      args,
      clearEnv: true,
      env,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
      signal: AbortSignal.timeout(PATIENCE_MS),
    }).output();
    if (code !== 0) log("debug", "notice_not_shown", { reason: new TextDecoder().decode(stderr).slice(0, 200) });
  }

  return {
    show(alert) {
      if (!desktop) return;
      show(desktop, alert).catch((error) => log("debug", "notice_not_shown", { reason: messageOf(error) }));
    },
    learn(env) {
      const found = Object.fromEntries(DESKTOP.flatMap((name) => env[name] === undefined ? [] : [[name, env[name]!]]));
      if (system.os === "darwin" || found.DBUS_SESSION_BUS_ADDRESS !== undefined) desktop = found;
    },
  };
}

/** The program that shows a notice. Texts are arguments, never a part of a script. */
function commandOf(title: string, text: string): [string, string[]] {
  if (system.os !== "darwin") {
    return ["notify-send", ["--app-name=AgentCards", "--", escaped(title), escaped(text)]];
  }
  const script = ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];
  return ["osascript", [...script.flatMap((line) => ["-e", line]), title, text]];
}

/** Desktops read markup in notifications. */
const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
