// Tests, a deployment and a service, as a team has them: the first argument is a folder, whose file `did` says what happened.
import { initialize, type Message, serve, text } from "./wire.ts";

const file = `${Deno.args[0]}/did`;
const did = async () => (await Deno.readTextFile(file).catch(() => "")).split("\n");
const READS = { annotations: { readOnlyHint: true } };

const acts = (name: string) => async () => {
  await Deno.writeTextFile(file, `${name}\n`, { append: true });
  return text(`did ${name}`);
};

const tools: Record<string, { readonly run: () => Promise<unknown>; readonly more?: Message }> = {
  test: {
    run: async () => (await did()).includes("repair") ? text("all green") : text("2 tests fail", { isError: true }),
    more: READS,
  },
  health: {
    run: async () => {
      const state = (await did()).some((line) => line === "restart" || line === "deploy") ? "up" : "down";
      return text(state, { structuredContent: { state } });
    },
    more: READS,
  },
  touch: { run: acts("touch") },
  repair: { run: acts("repair") },
  restart: { run: acts("restart") },
  deploy: { run: acts("deploy") },
};

await serve({
  initialize: (params: Message) => initialize(params, { tools: {} }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: Object.entries(tools).map(([name, { more }]) => ({ name, inputSchema: { type: "object" }, ...more })),
  }),
  "tools/call": ({ name }: Message) => tools[String(name)]!.run(),
});
