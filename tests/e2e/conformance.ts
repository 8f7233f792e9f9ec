// deno task e2e:conformance [--side server|client] [--scenario NAME] [--json]: the official conformance suite, in both
// revisions of the protocol: against our HTTP endpoint, in direct mode in front of a server that has what the suite asks
// for; and against ourselves as the client of its servers, signing in included.
import { parseArgs } from "node:util";
import { table } from "../../src/cli/screen/table.ts";
import { thisTerminal } from "../../src/cli/screen/terminal.ts";
import { AS_INSTALLED, createTestHome, ROOT, testServer } from "../fixtures/gateway.ts";
import { openDoor, startHttp } from "../fixtures/http.ts";
import { installTools } from "../fixtures/npm_tools.ts";
import { judgeClient } from "./client_scenarios.ts";

const SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const EXPECTED_FAILURES = `${ROOT}tests/e2e/expected_failures.yml`;
const REVISIONS = [
  { revision: "2025-11-25", server: ["conformance"] },
  { revision: "2025-11-25", server: ["conformance", "--modern"] },
  { revision: "2026-07-28", server: ["conformance", "--modern"] },
] as const;

interface Verdict {
  readonly revision: string;
  readonly behind: string;
  readonly code: number;
  readonly passed: number;
  readonly failed: readonly string[];
  readonly output: string;
}

const { values } = parseArgs({
  args: Deno.args,
  options: {
    side: { type: "string" },
    scenario: { type: "string" },
    json: { type: "boolean" },
    verbose: { type: "boolean" },
  },
});
const { out } = thisTerminal();
const tools = await installTools("conformance", [SUITE, "node@24.21.0"]);
const verdicts: Verdict[] = [];
if (values.side !== "client") {
  for (const { revision, server } of REVISIONS) verdicts.push(await judge(revision, server));
}
if (values.side !== "server") {
  for (const revision of ["2025-11-25", "2026-07-28"]) verdicts.push(await judgeOurselves(revision));
}
if (values.json) {
  out(JSON.stringify({ runs: verdicts.map(({ output: _output, ...verdict }) => verdict) }) + "\n");
} else {
  const rows = verdicts.map(({ revision, behind, passed, failed, code }) => [
    revision,
    behind,
    String(passed),
    failed.join(", ") || "none",
    code === 0 ? "conforms" : "does not conform",
  ]);
  out(table([["revision", "server behind", "checks passed", "failed", ""], ...rows]));
  for (const { output, code } of verdicts) if (values.verbose || code !== 0) out(output);
}
Deno.exit(verdicts.every(({ code }) => code === 0) ? 0 : 1);

async function judgeOurselves(revision: string): Promise<Verdict> {
  const suite = {
    node: `${tools}/node_modules/.bin/node`,
    folder: `${tools}/node_modules/@modelcontextprotocol/conformance`,
    expectedFailures: EXPECTED_FAILURES,
  };
  const verdict = await judgeClient(revision, suite, values.scenario);
  return { ...verdict, behind: "as a client", code: verdict.failed.length === 0 ? 0 : 1 };
}

async function judge(revision: string, [server, ...args]: readonly [string, ...string[]]): Promise<Verdict> {
  await using home = await createTestHome({
    servers: { conformance: testServer(server, ...args) },
    expose: { tools: "direct", prefix: "none" },
  }, AS_INSTALLED);
  // As every server is by the time somebody uses it: read once.
  await home.run(["index"]);
  await using http = await startHttp(home);
  await using door = await openDoor(http);
  const which = values.scenario
    ? ["--scenario", values.scenario, "--spec-version", revision]
    : ["--requirements", revision];
  const { code, stdout, stderr } = await new Deno.Command(`${tools}/node_modules/.bin/node`, {
    args: [
      `${tools}/node_modules/@modelcontextprotocol/conformance/dist/index.js`,
      "server",
      "--url",
      door.url,
      ...which,
      "--expected-failures",
      EXPECTED_FAILURES,
      "-o",
      `${home.dir}/results`,
      ...values.verbose ? ["--verbose"] : [],
    ],
    cwd: home.dir,
  }).output();
  const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  const passed = [...output.matchAll(/(\d+) passed/g)].at(-1)?.[1];
  // What is marked as failed and was not foreseen; what the revision does not require is run, but not held against us.
  const failed = [...output.matchAll(/^ {2}✗ (\S+)/gm)].map((match) => match[1]!);
  return { revision, behind: args.length ? "modern" : "legacy", code, passed: Number(passed ?? 0), failed, output };
}
