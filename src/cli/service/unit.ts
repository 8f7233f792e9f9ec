/** The definition of the engine for a service manager. */
export interface ServiceOptions {
  /** The words that start the engine. */
  readonly program: readonly string[];
  readonly home: string;
  /** A share of the machine's memory, or bytes with K, M or G: of the engine with all servers and code that it starts. */
  readonly memory: string;
  /** A share of one processor, such as 200%. */
  readonly cpu: string;
}

/** The first line of files that are ours to replace and to remove. */
export const OURS = "Written by agentcards service install; agentcards service remove takes it out.";
const EXIT_OF_A_REFUSED_HOME = 78;

/** A unit of the user's systemd: the engine runs while the user is logged in, and is started again when it ends. */
export function systemdUnit({ program, home, memory, cpu }: ServiceOptions): string {
  return `# ${OURS}
[Unit]
Description=AgentCards engine
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${[...program, "engine", "run"].map((word) => quoted(word, true)).join(" ")}
Environment=${quoted(`AGENTCARDS_HOME=${home}`)} "AGENTCARDS_SERVICE=1" "DENO_NO_UPDATE_CHECK=1"
WorkingDirectory=/
Restart=always
RestartSec=10
RestartPreventExitStatus=${EXIT_OF_A_REFUSED_HOME}
TimeoutStopSec=10
KillMode=mixed
OOMPolicy=continue
NoNewPrivileges=yes
MemoryMax=${memory}
CPUQuota=${cpu}
TasksMax=4096

[Install]
WantedBy=default.target
`;
}

/** A word as systemd reads it: between quotes, where only `%`, quotes and backslashes mean something, and `$` in commands. */
function quoted(word: string, isCommand = false): string {
  const escaped = word.replace(/["\\]/g, "\\$&").replaceAll("%", "%%");
  return `"${isCommand ? escaped.replaceAll("$", "$$$$") : escaped}"`;
}

/** An agent of launchd. It knows no bound on memory or on processor time for a whole tree. */
export function launchdPlist(label: string, { program, home }: ServiceOptions): string {
  const strings = (words: readonly string[], indent: string) =>
    words.map((word) => `${indent}<string>${escapedXml(word)}</string>\n`).join("");
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- ${OURS} -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${escapedXml(label)}</string>
  <key>ProgramArguments</key>
  <array>
${strings([...program, "engine", "run"], "    ")}  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>AGENTCARDS_HOME</key>
    <string>${escapedXml(home)}</string>
    <key>AGENTCARDS_SERVICE</key>
    <string>1</string>
    <key>DENO_NO_UPDATE_CHECK</key>
    <string>1</string>
  </dict>
  <key>WorkingDirectory</key>
  <string>/</string>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>ProcessType</key>
  <string>Background</string>
</dict>
</plist>
`;
}

function escapedXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
