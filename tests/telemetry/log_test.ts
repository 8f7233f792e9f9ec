import assert from "node:assert/strict";
import { openDailyFile } from "../../src/telemetry/daily_file.ts";
import { log, type LogLevel, startLog, stopLog } from "../../src/telemetry/log.ts";
import { createRedactor } from "../../src/telemetry/redact.ts";

/** What the log file holds after `work`, raw. */
async function logged(work: () => void, level: LogLevel = "debug", secrets: string[] = []): Promise<string> {
  const directory = await Deno.makeTempDir();
  const redactor = createRedactor();
  redactor.add(secrets);
  try {
    await startLog({ directory, level, stderr: false, redactor });
    try {
      work();
    } finally {
      await stopLog();
    }
    const files = (await Array.fromAsync(Deno.readDir(directory))).map(({ name }) => name);
    assert.equal(files.length, 1);
    assert.match(files[0]!, /^agentcards-\d{4}-\d{2}-\d{2}\.log$/);
    return await Deno.readTextFile(`${directory}/${files[0]}`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

interface Line {
  readonly level: string;
  readonly message: string;
  readonly properties: Record<string, unknown>;
}
const linesOf = (text: string): Line[] => text.trimEnd().split("\n").map((line) => JSON.parse(line));

Deno.test("each event is one line of JSON with its fields", async () => {
  const text = await logged(() => {
    log("info", "server started", { server: "a", ms: 12, list: [1, null] });
    log("error", "it broke");
  });
  const lines = linesOf(text);
  assert.equal(lines.length, 2);
  assert.deepEqual([lines[0]!.level, lines[0]!.message], ["INFO", "server started"]);
  assert.deepEqual(lines[0]!.properties, { server: "a", ms: 12, list: [1, null] });
  assert.ok(text.endsWith("\n"));
});

Deno.test("what is below the level is not written", async () => {
  const lines = linesOf(
    await logged(() => {
      for (const level of ["debug", "info", "warning", "error"] as const) log(level, level);
    }, "warning"),
  );
  assert.deepEqual(lines.map(({ message }) => message), ["warning", "error"]);
});

Deno.test("no field can forge a line or speak to a terminal", async () => {
  const evil = '\n{"level":"INFO","message":"forged"}\r\n\x1b[2J\u009b31m\u0085\u2028\u2029\0\x7f';
  const text = await logged(() => {
    log("info", "call", { name: evil, [evil]: evil, nested: { deep: [evil] } });
    log("info", `event ${evil}`);
  });
  assert.equal(text.split(/[\n\r\u0085\u2028\u2029]/).length, 3, "two lines and the end");
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
  const [first] = linesOf(text);
  assert.equal(first!.properties.name, evil, "and nothing is lost");
});

Deno.test("secrets are taken out of events, fields and keys, whatever has to be escaped in them", async () => {
  const secret = 'tok"en\\with/every\nthing';
  const text = await logged(
    () => log("info", `leak ${secret}`, { secret, [secret]: { url: `https://x/?t=${encodeURIComponent(secret)}` } }),
    "info",
    [secret],
  );
  assert.doesNotMatch(text, /tok|every|thing/);
  assert.equal(linesOf(text).length, 1, "still JSON");
});

Deno.test("a field that cannot be written does not take the caller down", async () => {
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  const text = await logged(() => {
    log("info", "loop", { loop });
    log("info", "big", { big: 10n });
    log("info", "after");
  });
  assert.equal(linesOf(text).at(-1)!.message, "after");
});

Deno.test("a log file is kept from others, whatever its folder", async () => {
  const home = await Deno.makeTempDir();
  try {
    const directory = `${home}/logs`;
    await Deno.mkdir(directory, { mode: 0o755 });
    await startLog({ directory, level: "info", stderr: false, redactor: createRedactor() });
    log("info", "x");
    await stopLog();
    const [file] = await Array.fromAsync(Deno.readDir(directory));
    assert.equal((await Deno.stat(`${directory}/${file!.name}`)).mode! & 0o777, 0o600);
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});

Deno.test("a new day has a new file, and files that are too old go", async () => {
  const directory = await Deno.makeTempDir();
  const now = Date.now;
  try {
    for (const name of ["agentcards-2026-01-01.log", "agentcards-2026-01-20.log", "mine.log"]) {
      await Deno.writeTextFile(`${directory}/${name}`, "");
    }
    Date.now = () => Date.parse("2026-01-21T23:59:59Z");
    using file = openDailyFile(directory, 14);
    file.write("first\n");
    Date.now = () => Date.parse("2026-01-22T00:00:01Z");
    file.write("second\n");
    const names = (await Array.fromAsync(Deno.readDir(directory))).map(({ name }) => name).sort();
    const days = ["20", "21", "22"].map((day) => `agentcards-2026-01-${day}.log`);
    assert.deepEqual(names, [...days, "mine.log"]);
    assert.equal(await Deno.readTextFile(`${directory}/${days[1]}`), "first\n");
    assert.equal(await Deno.readTextFile(`${directory}/${days[2]}`), "second\n");
  } finally {
    Date.now = now;
    await Deno.remove(directory, { recursive: true });
  }
});
