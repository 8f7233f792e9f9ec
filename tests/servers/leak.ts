// A program that tells its credentials: all variables whose names begin with LEAK_, and the password of its --dsn.
import { allOf, asides, leakyResult, listings } from "./leaks.ts";
import { type Handler, type Message, RpcError, serve, text, wire } from "./wire.ts";

const password = (url: string) => /:([^:@/]+)@/.exec(url)![1]!;
const env = Object.entries(Deno.env.toObject()).filter(([name]) => name.startsWith("LEAK_")).map(([, value]) => value);
const secrets = [
  ...env.map((value) => value.includes("://") ? password(value) : value),
  password(Deno.args[Deno.args.indexOf("--dsn") + 1]!),
];

const calls: Record<string, (meta: Message) => Message | Promise<Message>> = {
  async leak({ progressToken }) {
    for (const message of asides(secrets, progressToken)) wire.send(message);
    await new Promise((resolve) => setTimeout(resolve, 200));
    return leakyResult(secrets);
  },
  fail: () => text(allOf(secrets), { isError: true }),
  error: () => {
    throw new RpcError(-32000, allOf(secrets), { said: allOf(secrets) });
  },
  die: () => {
    Deno.stderr.writeSync(new TextEncoder().encode(allOf(secrets).replaceAll(" | ", "\n")));
    Deno.exit(1);
  },
};

await serve({
  ...listings(secrets) as unknown as Record<string, Handler>,
  "tools/call": ({ name }, { meta }) => calls[String(name)]!(meta),
});
