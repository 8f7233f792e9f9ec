// The client side of the conformance suite: every scenario that a revision scores, one after the other, with one engine.
import { parse } from "yaml";
import { createTestHome, ROOT } from "../fixtures/gateway.ts";

export interface ClientVerdict {
  readonly revision: string;
  readonly passed: number;
  readonly failed: readonly string[];
  readonly output: string;
}

export interface Suite {
  readonly node: string;
  /** The folder of the suite's package. */
  readonly folder: string;
  readonly expectedFailures: string;
}

interface Check {
  readonly status: string;
  readonly id: string;
  readonly errorMessage?: string;
  readonly description: string;
}

/** Runs the scenarios of a revision, or the one that is named. */
export async function judgeClient(revision: string, suite: Suite, only?: string): Promise<ClientVerdict> {
  const required = parse(await Deno.readTextFile(`${suite.folder}/requirements/${revision}.yaml`)) as {
    client: string[];
  };
  const expected = parse(await Deno.readTextFile(suite.expectedFailures)) as { client: string[] };
  const failed: string[] = [];
  const outputs: string[] = [];
  let passed = 0;
  for (const scenario of only ? [only] : required.client) {
    // A home of its own: what is known of one server must not stand for that of the next at the same address.
    await using home = await createTestHome();
    const { code, stdout, stderr } = await new Deno.Command(suite.node, {
      args: [
        `${suite.folder}/dist/index.js`,
        "client",
        "--command",
        `${Deno.execPath()} run -A --quiet --config ${ROOT}deno.json ${ROOT}tests/e2e/conformance_client.ts`,
        "--scenario",
        scenario,
        "--spec-version",
        revision,
        "--timeout",
        "120000",
        "-o",
        `${home.dir}/verdict`,
      ],
      cwd: home.dir,
      env: home.env,
    }).output();
    const checks = await checksIn(`${home.dir}/verdict`);
    passed += checks.filter(({ status }) => status === "SUCCESS").length;
    const wrong = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
    if (code === 0 && wrong.length === 0 && checks.length > 0) continue;
    const words = wrong.map(({ id, errorMessage, description }) => `  ${id}: ${errorMessage ?? description}`);
    const decoder = new TextDecoder();
    outputs.push(`${scenario} (${revision})`, ...words, decoder.decode(stdout).slice(-4_000), decoder.decode(stderr));
    if (!expected.client.includes(scenario)) failed.push(scenario);
  }
  return { revision, passed, failed, output: outputs.join("\n") };
}

async function checksIn(folder: string): Promise<Check[]> {
  const checks: Check[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) checks.push(...await checksIn(`${folder}/${name}`));
    else if (name === "checks.json") checks.push(...JSON.parse(await Deno.readTextFile(`${folder}/${name}`)));
  }
  return checks;
}
