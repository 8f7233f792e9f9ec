// The engine as a service: byte-exact files, and a service manager of the test's own that notes each command.
import assert from "node:assert/strict";
import { createTestHome, endProcess, PROGRAM, until } from "../fixtures/gateway.ts";
import { launchdPlist, systemdUnit } from "../../src/cli/service/unit.ts";

const OPTIONS = {
  program: ["/opt/deno", "run", '/home/ann/100% "new"/$main.ts'],
  home: "/home/ann/.agent<cards> & co\\",
  memory: "50%",
  cpu: "400%",
};

Deno.test("the files for service managers are these, to the byte", () => {
  assert.equal(
    systemdUnit(OPTIONS),
    String.raw`# Written by agentcards service install; agentcards service remove takes it out.
[Unit]
Description=AgentCards engine
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart="/opt/deno" "run" "/home/ann/100%% \"new\"/$$main.ts" "engine" "run"
Environment="AGENTCARDS_HOME=/home/ann/.agent<cards> & co\\" "AGENTCARDS_SERVICE=1" "DENO_NO_UPDATE_CHECK=1"
WorkingDirectory=/
Restart=always
RestartSec=10
RestartPreventExitStatus=78
TimeoutStopSec=10
KillMode=mixed
OOMPolicy=continue
NoNewPrivileges=yes
MemoryMax=50%
CPUQuota=400%
TasksMax=4096

[Install]
WantedBy=default.target
`,
  );
  assert.equal(
    launchdPlist("dev.agentcards.engine", OPTIONS),
    String.raw`<?xml version="1.0" encoding="UTF-8"?>
<!-- Written by agentcards service install; agentcards service remove takes it out. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>dev.agentcards.engine</string>
  <key>ProgramArguments</key>
  <array>
    <string>/opt/deno</string>
    <string>run</string>
    <string>/home/ann/100% "new"/$main.ts</string>
    <string>engine</string>
    <string>run</string>
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>AGENTCARDS_HOME</key>
    <string>/home/ann/.agent&lt;cards&gt; &amp; co\</string>
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
`,
  );
});

/** A systemctl that notes its words; it refuses while a file says so. */
const SYSTEMCTL = `#!/bin/sh
folder=$(dirname "$0")
echo "$*" >> "$folder/asked"
[ ! -e "$folder/refuses" ] || { echo "Failed to connect to bus" >&2; exit 1; }
case "$2" in
  restart) : > "$folder/active" ;;
  disable) rm -f "$folder/active" ;;
  is-active | is-enabled) [ -e "$folder/active" ] ;;
esac
`;

Deno.test({
  name: "service install, status and remove leave nothing of the user's changed",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using home = await createTestHome();
    const system = `${home.dir}/system`;
    await Deno.mkdir(system);
    await Deno.writeTextFile(`${system}/systemctl`, SYSTEMCTL, { mode: 0o755 });
    const env = {
      HOME: `${home.dir}/user`,
      XDG_CONFIG_HOME: `${home.dir}/user/.config`,
      AGENTCARDS_SYSTEM_PATH: `${system}:/usr/bin:/bin`,
    };
    const service = (...args: string[]) => home.run(["service", ...args], { env });
    const status = async () => JSON.parse((await service("status", "--json")).stdout);
    const units = `${env.XDG_CONFIG_HOME}/systemd/user`;
    assert.equal((await status()).installed, false);

    await Deno.writeTextFile(`${system}/refuses`, "");
    const refused = await service("install");
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /Failed to connect to bus/);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(units)), [], "what is not known to the manager is not left");
    await Deno.remove(`${system}/refuses`);

    const installed = await service("install", "--memory", "2G", "--cpu", "150%");
    assert.equal(installed.code, 0, installed.stderr);
    const { path, name, active, enabled } = await status();
    assert.deepEqual([active, enabled], [true, true]);
    assert.match(name, /^agentcards-[0-9a-f]{8}\.service$/, "a home of another place has a service of its own");
    const text = await Deno.readTextFile(path);
    assert.equal(text, systemdUnit({ program: programIn(text), home: home.dir, memory: "2G", cpu: "150%" }));
    const asked = (await Deno.readTextFile(`${system}/asked`)).trim().split("\n");
    assert.deepEqual(
      asked.slice(1, 4),
      ["daemon-reload", `enable ${name}`, `restart ${name}`].map((one) => `--user ${one}`),
    );

    await Deno.writeTextFile(path, "[Service]\nExecStart=/bin/true\n");
    for (const command of ["install", "remove"]) {
      assert.match((await service(command)).stderr, /was not written by AgentCards/, command);
    }
    await Deno.writeTextFile(path, text);
    assert.equal((await service("remove")).code, 0);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(units)), []);
    assert.equal((await service("install", "--memory", "all")).code, 2);
  },
});

Deno.test("the engine of a service stays although nobody is connected", async () => {
  await using home = await createTestHome({ engine: { idle_exit: "1s" } });
  const start = (env: Record<string, string>) =>
    new Deno.Command(PROGRAM[0]!, {
      args: [...PROGRAM.slice(1), "engine", "run"],
      env: { ...home.env, ...env },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
  const leaving = start({});
  assert.equal((await leaving.status).code, 0, "it leaves when it is idle");
  const staying = start({ AGENTCARDS_SERVICE: "1" });
  let hasEnded = false;
  staying.status.then(() => hasEnded = true);
  await until("the engine runs", async () => await home.enginePid() === staying.pid);
  // Idle for longer than the other one was altogether.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  assert.equal(hasEnded, false);
  await endProcess(staying.pid, "SIGTERM");
  await staying.status;
});

/** The words of ExecStart before those for the engine. */
function programIn(unit: string): string[] {
  const line = /^ExecStart=(.*)$/m.exec(unit)![1]!;
  return [...line.matchAll(/"([^"]*)"/g)].map((match) => match[1]!).slice(0, -2);
}
