// A process to be killed: runs code that never ends, and says which process it runs in.
import type { Level } from "../../src/sandbox/command.ts";
import { availableLevel } from "../../src/sandbox/level.ts";
import { createSandbox } from "../../src/sandbox/sandbox.ts";

const [level, wallMs] = Deno.args.map(Number) as [Level, number];
const { groups, setpriv } = await availableLevel();
const pids: number[] = [];
const sandbox = createSandbox({ level, groups, setpriv, ready: 0, watch: (pid) => pids.push(pid), forget() {} });
setTimeout(() => void Deno.stdout.write(new TextEncoder().encode(JSON.stringify(pids))), 1_000);
const tools = { call: () => Promise.resolve(null), result: () => Promise.resolve(null) };
await sandbox.run({ code: "while (true) {}", context: {}, deps: {}, servers: {} }, tools, {
  signal: new AbortController().signal,
  minimumLevel: 0,
  limits: { wallMs },
});
