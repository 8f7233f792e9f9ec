// An agent program for tests: it does what the line `SCRIPT [...]` of its prompt says. `--acp` speaks the Agent Client
// Protocol, `--claude` prints events as Claude Code does, without either it reads a prompt and prints an answer. A session
// that is gone on with begins at the step that it had reached: its state is a file in the folder of --state. --answers: a
// file of JSON with words of prompts and the steps for them.
import { TextLineStream } from "./lines.ts";

type Message = Record<string, unknown>;
interface Step {
  /** Calls a tool of the gateway, and remembers the text of its answer. */
  readonly call?: string;
  readonly arguments?: Message;
  /** Says a text; `$LAST` is the last answer. */
  readonly say?: string;
  readonly hang?: true;
  /** Tells the protocol that it used a tool of its own. */
  readonly own?: string;
  /** Asks for leave to use a tool of its own. */
  readonly permit?: string;
  readonly environment?: true;
  readonly folder?: true;
  readonly exit?: number;
  /** Starts a process that never ends, and writes its id into this file. */
  readonly child?: string;
  readonly tokens?: number;
}

const option = (name: string) => Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
const has = (name: string) => Deno.args.includes(`--${name}`);
const state = option("state");
const encoder = new TextEncoder();
const print = (message: unknown) => Deno.stdout.writeSync(encoder.encode(`${JSON.stringify(message)}\n`));
const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream()).getReader();

interface Tools {
  call(tool: string, args: Message): Promise<string>;
}

/** A client of the MCP server that the agent was given. */
function connect({ command, args }: { command: string; args: string[] }): Tools & { names(): Promise<string[]> } {
  const child = new Deno.Command(command, { args, stdin: "piped", stdout: "piped", stderr: "null" }).spawn();
  const writer = child.stdin.getWriter();
  const waiting = new Map<unknown, (message: Message) => void>();
  let last = 0;
  (async () => {
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of reader) {
      const message = JSON.parse(line) as Message;
      if (message.method === undefined) waiting.get(message.id)?.(message);
    }
  })();
  const send = (message: Message) =>
    writer.write(encoder.encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`));
  const request = async (method: string, params: Message) => {
    const id = ++last;
    const answer = new Promise<Message>((resolve) => waiting.set(id, resolve));
    await send({ id, method, params });
    const { result, error } = await answer;
    if (error) throw new Error(JSON.stringify(error));
    return result as Message;
  };
  const ready = (async () => {
    const clientInfo = { name: "test-agent", version: "1" };
    await request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    await send({ method: "notifications/initialized" });
  })();
  return {
    async names() {
      await ready;
      const { tools } = await request("tools/list", {});
      return (tools as { name: string }[]).map(({ name }) => name);
    },
    async call(tool, args) {
      await ready;
      const result = tool.includes(":")
        ? await request("tools/call", { name: "call_tool", arguments: { tool, arguments: args } })
        : await request("tools/call", { name: tool, arguments: args });
      const text = ((result.content ?? []) as { text?: string }[]).map((block) => block.text ?? "").join("");
      return result.isError ? `ERROR ${text}` : text;
    },
  };
}

interface Teller {
  readonly tools: Tools | undefined;
  say(text: string): void;
  step?(step: Step): Promise<string | undefined>;
}

/** The steps for a prompt: those that it holds, else those of the first entry of --answers whose words it holds. */
async function stepsFor(prompt: string): Promise<readonly Step[] | undefined> {
  const found = /^SCRIPT (.*)$/m.exec(prompt)?.[1];
  if (found !== undefined) return JSON.parse(found);
  const file = option("answers");
  const answers: [string, Step[]][] = file ? JSON.parse(await Deno.readTextFile(file)) : [];
  return answers.find(([words]) => prompt.includes(words))?.[1];
}

async function work(prompt: string, session: string, { tools, say, step: told }: Teller): Promise<void> {
  const steps = await stepsFor(prompt);
  if (!steps) return say(`heard: ${prompt}`);
  const file = state && `${state}/${session}`;
  const memory = file && await Deno.readTextFile(file).then(JSON.parse, () => undefined) as Message | undefined;
  let { at = 0, answer = "" } = (memory ?? {}) as { at?: number; answer?: string };
  if (state) await Deno.writeTextFile(`${state}/prompts`, `${JSON.stringify({ session, prompt })}\n`, { append: true });
  for (; at < steps.length; at++) {
    if (file) await Deno.writeTextFile(file, JSON.stringify({ at, answer }));
    const step = steps[at]!;
    answer = await told?.(step) ?? answer;
    if (step.call) answer = await tools!.call(step.call, step.arguments ?? {});
    if (step.environment) answer = JSON.stringify(Object.keys(Deno.env.toObject()).sort());
    if (step.folder) answer = Deno.cwd();
    if (step.child) {
      const { pid } = new Deno.Command("sleep", { args: ["600"], stdin: "null", stdout: "null" }).spawn();
      await Deno.writeTextFile(step.child, String(pid));
    }
    if (step.exit !== undefined) {
      Deno.stderr.writeSync(encoder.encode("it gave up\n"));
      Deno.exit(step.exit);
    }
    if (step.hang) await new Promise(() => setInterval(() => {}, 60_000));
    if (step.say !== undefined) say(step.say.replaceAll("$LAST", answer));
  }
}

async function plain(): Promise<void> {
  let prompt = "";
  for (let read = await lines.read(); !read.done; read = await lines.read()) prompt += `${read.value}\n`;
  await work(prompt.trimEnd(), `plain-${crypto.randomUUID()}`, {
    tools: undefined,
    say: (text) => Deno.stdout.writeSync(encoder.encode(text)),
  });
}

async function speakAcp(): Promise<void> {
  const sessions = new Map<string, ReturnType<typeof connect>>();
  const waiting = new Map<unknown, (message: Message) => void>();
  let last = 0;
  const ask = async (method: string, params: Message) => {
    const id = `ask-${++last}`;
    const answer = new Promise<Message>((resolve) => waiting.set(id, resolve));
    print({ jsonrpc: "2.0", id, method, params });
    return (await answer).result as Message;
  };
  const open = (params: Message, id: string) => {
    const [server] = params.mcpServers as { command: string; args: string[] }[];
    sessions.set(id, connect(server!));
    return { sessionId: id };
  };
  const prompt = async ({ sessionId, prompt }: Message) => {
    const id = sessionId as string;
    const update = (update: Message) =>
      print({ jsonrpc: "2.0", method: "session/update", params: { sessionId, update } });
    const text = (prompt as { text: string }[]).map((part) => part.text).join("");
    let calls = 0;
    const tools = sessions.get(id)!;
    await work(text, id, {
      tools: {
        async call(tool, args) {
          const toolCallId = `call-${++calls}`;
          const title = "call_tool (agentcards MCP Server)";
          update({ sessionUpdate: "tool_call", toolCallId, title, kind: "other", status: "pending" });
          const answer = await tools.call(tool, args);
          update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
          return answer;
        },
      },
      say: (said) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: said } }),
      async step({ own, permit }) {
        const toolCall = { toolCallId: `own-${++calls}`, title: own ?? permit, kind: "execute" };
        if (own) update({ sessionUpdate: "tool_call", ...toolCall, status: "completed" });
        if (!permit) return;
        const options = [
          { optionId: "yes", name: "Yes", kind: "allow_once" },
          { optionId: "no", name: "No", kind: "reject_once" },
        ];
        const { outcome } = await ask("session/request_permission", {
          sessionId,
          toolCall: { ...toolCall, rawInput: { command: permit } },
          options,
        });
        return JSON.stringify(outcome);
      },
    });
    return { stopReason: "end_turn" };
  };
  const answers: Record<string, (params: Message) => unknown> = {
    initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: !has("forgets") } }),
    "session/new": (params) => open(params, crypto.randomUUID()),
    "session/load": (params) => (open(params, params.sessionId as string), {}),
    "session/prompt": prompt,
  };
  for (let read = await lines.read(); !read.done; read = await lines.read()) {
    const message = JSON.parse(read.value) as Message;
    const { id, method, params } = message;
    if (method === undefined) waiting.get(id)?.(message);
    else if (id !== undefined) {
      Promise.resolve(answers[method as string]?.((params ?? {}) as Message)).then(
        (result) => print({ jsonrpc: "2.0", id, result }),
        (error) => print({ jsonrpc: "2.0", id, error: { code: -32603, message: String(error) } }),
      );
    }
  }
}

async function speakClaude(): Promise<void> {
  const after = (name: string) => Deno.args[Deno.args.indexOf(name) + 1]!;
  const session_id = Deno.args.includes("--resume") ? after("--resume") : after("--session-id");
  if (state) await Deno.writeTextFile(`${state}/arguments`, JSON.stringify(Deno.args));
  const { mcpServers } = JSON.parse(after("--mcp-config"));
  const tools = connect(mcpServers.agentcards);
  const { value } = await lines.read();
  const { message: { content } } = JSON.parse(value!);
  let [text, turns] = ["", 0];
  print({ type: "system", subtype: "init", session_id, tools: await tools.names() });
  const turn = (tokens: number, said: Message) => {
    const usage = { input_tokens: tokens, output_tokens: tokens };
    print({ type: "assistant", session_id, message: { id: `msg_${++turns}`, content: [said], usage } });
  };
  await work(content[0].text, session_id, {
    tools: {
      call(tool, args) {
        turn(10, { type: "tool_use", name: "mcp__agentcards__call_tool", input: args });
        return tools.call(tool, args);
      },
    },
    say(said) {
      text = said;
      turn(10, { type: "text", text: said });
    },
    step({ tokens }) {
      if (tokens) turn(tokens, { type: "text", text: "thinking" });
      return Promise.resolve(undefined);
    },
  });
  print({ type: "result", subtype: "success", is_error: false, result: text, session_id, num_turns: turns });
}

await (has("acp") ? speakAcp() : has("claude") ? speakClaude() : plain());
Deno.exit(0);
