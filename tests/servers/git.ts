// Reads the log of a git repository.
import { initialize, type Message, serve, text } from "./wire.ts";

async function log({ repository, since }: Message): Promise<{ hash: string; subject: string }[]> {
  const { success, stdout, stderr } = await new Deno.Command("git", {
    args: ["-C", String(repository), "log", "--format=%H %s", `${since}..HEAD`],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim().split("\n").filter(Boolean)
    .map((line) => ({ hash: line.slice(0, 40), subject: line.slice(41) }));
}

await serve({
  initialize: (params) => initialize(params, { tools: {} }),
  "tools/list": () => ({
    tools: [{
      name: "log",
      description: "Lists the commits of a repository since a tag or a commit",
      inputSchema: {
        type: "object",
        properties: { repository: { type: "string" }, since: { type: "string" } },
        required: ["repository", "since"],
      },
      annotations: { readOnlyHint: true },
    }],
  }),
  "tools/call": async ({ arguments: given }) => {
    const value = { commits: await log(given as Message) };
    return text(JSON.stringify(value), { structuredContent: value });
  },
});
