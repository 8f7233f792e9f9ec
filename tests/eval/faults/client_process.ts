// A client program of its own, to be killed: `client_process.ts HOME WORK`. It prints a line when all that it uses is running.
import { connectClient } from "../../fixtures/client.ts";
import { sleep, type TestHome } from "../../fixtures/gateway.ts";

const [dir, work] = Deno.args as [string, string];
const client = await connectClient({ dir, env: Deno.env.toObject() } as TestHome, { cwd: work });
await client.use("kit:process");
await client.use("stubborn:family");
await client.call("execute_code", { code: "return 1" });
// Never answered, as long as nobody ends them.
client.call("execute_code", { code: "while (true) {}" }).catch(() => {});
client.use("kit:hang").catch(() => {});
await sleep(500);
await Deno.stdout.write(new TextEncoder().encode("ready\n"));
await client.exited;
// A client that lost its server stays: it is the user's.
setInterval(() => {}, 60_000);
