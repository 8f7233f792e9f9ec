// The client that the conformance suite judges: a client of the SDK in front of `agentcards serve`, whose one server is
// that of the scenario, with a person who signs in when they are told to. The home is that of the environment.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { stringify } from "yaml";
import { thisTerminal } from "../../src/cli/screen/terminal.ts";
import { PROGRAM } from "../fixtures/gateway.ts";
import { signIn } from "../fixtures/sign_in.ts";

/** A document about a client that the suite knows; it is never fetched. */
const CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json";
/** The sign-ins after which a person gives up. */
const MOST_SIGN_INS = 2;

const { out } = thisTerminal();
const url = Deno.args.at(-1)!;
const scenario = Deno.env.get("MCP_CONFORMANCE_SCENARIO")!;
const context = JSON.parse(Deno.env.get("MCP_CONFORMANCE_CONTEXT") ?? "{}");
const dir = Deno.env.get("AGENTCARDS_HOME")!;
const env = Deno.env.toObject();

const CALLS: Readonly<Record<string, readonly [tool: string, args?: Record<string, unknown>][]>> = {
  "tools_call": [["add_numbers", { a: 5, b: 3 }]],
  "elicitation-sep1034-client-defaults": [["test_client_elicitation_defaults"]],
  "sse-retry": [["test_reconnection"]],
  "http-standard-headers": [["test_headers"], ["my-hyphenated-tool"]],
  "http-invalid-tool-headers": [["valid_tool", { region: "us-west1" }]],
  "sep-2322-client-request-state": [
    ["test_mrtr_echo_state"],
    ["test_mrtr_unrelated"],
    ["test_mrtr_no_state"],
    ["test_mrtr_no_result_type"],
  ],
};

const oauth = context.client_id
  ? { client_id: context.client_id, client_secret: context.client_secret, issuer: context.issuer }
  : { client_id: CLIENT_DOCUMENT };
const server = scenario.startsWith("auth/") ? { url, oauth } : { url };
await Deno.writeTextFile(
  `${dir}/config.yaml`,
  stringify({ servers: { suite: server }, policy: { preset: "minimal" } }),
  { mode: 0o600 },
);

let client = await connect();
let isWell = true;
for (let signIns = 0;; signIns++) {
  const said = await useAll();
  out(said + "\n");
  if (!said.includes("agentcards login")) break;
  if (signIns === MOST_SIGN_INS) {
    isWell = false;
    break;
  }
  const { code, output } = await signIn({ env, dir }, "suite");
  out(output);
  // A sign-in that was refused is over; one after which the server still refuses is tried once more.
  if (code !== 0 && !output.includes("Signed in")) {
    isWell = false;
    break;
  }
}
await client.close();
Deno.exit(isWell ? 0 : 1);

async function connect(): Promise<Client> {
  const client = new Client({ name: "person", version: "1" }, {
    capabilities: { elicitation: { form: { applyDefaults: true } } },
  });
  client.setRequestHandler("elicitation/create", () => Promise.resolve({ action: "accept", content: {} }));
  const args = [...PROGRAM.slice(1), "serve"];
  await client.connect(new StdioClientTransport({ command: PROGRAM[0]!, args, env, cwd: dir }));
  return client;
}

/** Looks at the server's tools and calls those that the scenario is about; all that was said. */
async function useAll(): Promise<string> {
  const look = () => ask("search_tools", { server: "suite", query: "tool", detail: "schema", limit: 50 });
  let listed = await look();
  for (let tries = 0; tries < 5 && listed.includes("still starting"); tries++) listed = await look();
  if (listed.includes("agentcards login")) return listed;
  const calls = scenario.startsWith("auth/") ? [["test-tool"] as const] : CALLS[scenario] ?? context.toolCalls?.map(
    ({ name, arguments: args }: { name: string; arguments: Record<string, unknown> }) => [name, args],
  ) ?? [];
  const said = [listed];
  for (const [tool, args = {}] of calls) said.push(await ask("call_tool", { tool: `suite:${tool}`, arguments: args }));
  if (scenario === "http-standard-headers") said.push(await readAll());
  return said.join("\n");
}

/** Reads a resource and a prompt. A client hears of resources at its handshake, once they are known. */
async function readAll(): Promise<string> {
  await client.close();
  client = await connect();
  const { resources } = await client.listResources();
  const { prompts } = await client.listPrompts();
  const read = await client.readResource({ uri: resources[0]!.uri });
  const prompt = await client.getPrompt({ name: prompts[0]!.name });
  return JSON.stringify([read, prompt]);
}

async function ask(name: string, args: Record<string, unknown>): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args }, { timeout: 25_000 });
  return JSON.stringify(content);
}
