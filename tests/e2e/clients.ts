// deno task e2e:clients: clients that we did not write, in front of us: the v1 SDK as the older side, and the MCP Inspector.
import assert from "node:assert/strict";
import { thisTerminal } from "../../src/cli/screen/terminal.ts";
import { AS_INSTALLED, createTestHome, npmServer, PROGRAM, type TestHome } from "../fixtures/gateway.ts";
import { installTools } from "../fixtures/npm_tools.ts";

const { out } = thisTerminal();
const tools = await installTools("clients", [
  "@modelcontextprotocol/sdk@1.32.2",
  "@modelcontextprotocol/inspector@2.12.0",
  "node@24.21.0",
]);
const node = `${tools}/node_modules/.bin/node`;

/** A program for Node that does with the v1 SDK what its users do, and prints what it got. */
const V1_CLIENT = `
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "v1", version: "1" }, { capabilities: { sampling: {}, elicitation: {}, roots: {} } });
client.setRequestHandler(CreateMessageRequestSchema, () => ({ role: "assistant", model: "m", content: { type: "text", text: "forty-two" } }));
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada" } }));
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///a/project" }] }));
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const use = (tool, given = {}, options) => client.callTool({ name: "call_tool", arguments: { tool, arguments: given } }, undefined, options);
const progress = [];
await use("everything:trigger-long-running-operation", { duration: 0.4, steps: 4 }, { onprogress: (said) => progress.push(said.progress) });
console.log(JSON.stringify({
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  sum: await use("everything:get-sum", { a: 2, b: 3 }),
  structured: await use("everything:get-structured-content", { location: "Chicago" }),
  image: (await use("everything:get-tiny-image")).content.map((block) => block.type),
  sampled: await use("everything:trigger-sampling-request", { prompt: "?" }),
  asked: await use("everything:trigger-elicitation-request"),
  roots: await use("everything:get-roots-list"),
  progress,
  resources: (await client.listResources()).resources.length,
  prompts: (await client.listPrompts()).prompts.map((prompt) => prompt.name),
}));
await client.close();
`;

{
  await using home = await createTestHome({ servers: { everything: npmServer("everything") } }, AS_INSTALLED);
  await home.run(["index"]);
  await olderSdk(home);
  await inspector(home);
}

async function output(home: TestHome, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(node, { args: [...args], env: home.env, cwd: home.dir })
    .output();
  const text = new TextDecoder().decode(stdout);
  assert.equal(code, 0, text + new TextDecoder().decode(stderr));
  return text;
}

async function olderSdk(home: TestHome): Promise<void> {
  const script = `${tools}/client.mjs`;
  await Deno.writeTextFile(script, V1_CLIENT);
  const said = JSON.parse(await output(home, [script, ...PROGRAM, "serve"]));
  assert.equal(said.tools.length, 5);
  assert.match(JSON.stringify(said.sum), /5/);
  assert.ok(said.structured.structuredContent.temperature);
  assert.ok(said.image.includes("image"));
  assert.match(JSON.stringify(said.sampled), /forty-two/);
  assert.match(JSON.stringify(said.asked), /Ada/);
  assert.match(JSON.stringify(said.roots), /a\/project/);
  assert.deepEqual(said.progress, [1, 2, 3, 4]);
  assert.ok(said.resources > 0 && said.prompts.length > 0);
  out(
    `v1 SDK 1.32.2: tools, calls, structured content, images, progress 4 of 4, sampling, elicitation, roots, ` +
      `${said.resources} resources, ${said.prompts.length} prompts\n`,
  );
}

async function inspector(home: TestHome): Promise<void> {
  const bin = await Deno.realPath(`${tools}/node_modules/.bin/mcp-inspector`);
  const config = `${home.dir}/inspector.json`;
  const [command, ...args] = [...PROGRAM, "serve"];
  const env = { AGENTCARDS_HOME: home.dir };
  await Deno.writeTextFile(config, JSON.stringify({ mcpServers: { agentcards: { command, args, env } } }));
  for (const era of ["legacy", "modern"]) {
    const ask = async (...more: string[]) =>
      await output(home, [
        bin,
        "--cli",
        "--config",
        config,
        "--server",
        "agentcards",
        "--protocol-era",
        era,
        "--format",
        "json",
        "-q",
        ...more,
      ]);
    const list = await ask("--method", "tools/list");
    assert.match(list, /search_tools/);
    const call = JSON.stringify({ tool: "everything:get-sum", arguments: { a: 2, b: 3 } });
    assert.match(await ask("--method", "tools/call", "--tool-name", "call_tool", "--tool-args-json", call), /5/);
    out(`Inspector 2.12.0 --cli, ${era}: tools/list and tools/call\n`);
  }
}
