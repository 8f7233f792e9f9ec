// A server whose tools are whatever a file says, read anew each time; calling any of them announces a change.
import { discover, initialize, serve, text, wire } from "./wire.ts";

const [file] = Deno.args;
const tools = () => JSON.parse(Deno.readTextFileSync(file!)) as unknown[];

await serve({
  "server/discover": () => discover(),
  initialize: (params) => initialize(params),
  "tools/list": () => ({ tools: tools() }),
  "tools/call": () => {
    wire.send({ method: "notifications/tools/list_changed" });
    return text("done", { resultType: "complete" });
  },
});
