// A server whose tools are whatever a file says, read anew each time; calling any of them announces a change. One that is
// called mirror gives its arguments back. With --asks it wants to know an account before it does anything.
import { discover, initialize, serve, text, wire } from "./wire.ts";

const [file] = Deno.args;
const tools = () => JSON.parse(Deno.readTextFileSync(file!)) as unknown[];

await serve({
  "server/discover": () => discover(),
  initialize: (params) => initialize(params),
  "tools/list": () => ({ tools: tools() }),
  "tools/call": ({ name, arguments: given, inputResponses }) => {
    if (Deno.args.includes("--asks") && inputResponses === undefined) {
      const requestedSchema = { type: "object", properties: { account: { type: "string" } } };
      const params = { mode: "form", message: "Which account?", requestedSchema };
      return { resultType: "input_required", inputRequests: { account: { method: "elicitation/create", params } } };
    }
    wire.send({ method: "notifications/tools/list_changed" });
    return text(name === "mirror" ? JSON.stringify(given) : "done", { resultType: "complete" });
  },
});
