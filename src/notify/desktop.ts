import { messageOf, oneLine } from "../model/mod.ts";
import { systemProgram } from "../platform/mod.ts";
import { Command, system } from "../platform/start.ts";
import { log } from "../telemetry/mod.ts";

/** A line for a person who may look at another window. */
export interface Notice {
  /** Notices of one subject within a minute are one notice. */
  readonly subject: string;
  readonly title: string;
  readonly text: string;
}

/** Desktop notifications of one engine. */
export interface Notifier {
  tell(notice: Notice): void;
  /** Takes the desktop's address out of the environment of a session. */
  learn(env: Readonly<Record<string, string>>): void;
}

export interface NotifierOptions {
  /** True while the configuration wants notifications. */
  isWanted(): Promise<boolean>;
  readonly now?: () => number;
}

const QUIET_MS = 60_000;
/** At most so many notices a minute, whatever happens. */
const MOST_A_MINUTE = 6;
const PATIENCE_MS = 5_000;
const DESKTOP = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "HOME"];

/** A notifier that is silent where no desktop is known. A notice that cannot be shown costs nothing but a line in the log. */
export function createNotifier({ isWanted, now = Date.now }: NotifierOptions): Notifier {
  let desktop: Readonly<Record<string, string>> | undefined;
  let told = new Map<string, number>();

  /** True if a notice of this subject may be shown now. */
  function isDue(subject: string): boolean {
    const at = now();
    told = new Map([...told].filter(([, shown]) => at - shown < QUIET_MS));
    if (told.has(subject) || told.size >= MOST_A_MINUTE) return false;
    told.set(subject, at);
    return true;
  }

  async function show({ title, text }: Notice): Promise<void> {
    if (!desktop || !await isWanted()) return;
    const [program, args] = commandOf(oneLine(title, 100), oneLine(text, 300));
    const { code, stderr } = await new Command(systemProgram(program), {
      args,
      clearEnv: true,
      env: desktop,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
      signal: AbortSignal.timeout(PATIENCE_MS),
    }).output();
    if (code !== 0) log("debug", "notice_not_shown", { reason: new TextDecoder().decode(stderr).slice(0, 200) });
  }

  return {
    tell(notice) {
      if (!desktop || !isDue(notice.subject)) return;
      show(notice).catch((error) => log("debug", "notice_not_shown", { reason: messageOf(error) }));
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
