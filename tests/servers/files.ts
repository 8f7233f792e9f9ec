// Changes files as a server of the user's would: in the folder that it runs in, or in the one that --root names.
import { initialize, type Message, serve, text } from "./wire.ts";

const root = Deno.args.find((arg) => arg.startsWith("--root="))?.slice(7) ?? Deno.cwd();
const string = { type: "string" };

interface Step {
  readonly do: "write" | "append" | "remove" | "rename" | "mode" | "link" | "replace" | "wait";
  readonly path: string;
  readonly text?: string;
  /** Bytes, as base64. */
  readonly bytes?: string;
  readonly to?: string;
  readonly mode?: number;
  readonly ms?: number;
}

async function make(step: Step): Promise<void> {
  const path = `${root}/${step.path}`;
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  const content = step.bytes === undefined
    ? new TextEncoder().encode(step.text ?? "")
    : Uint8Array.fromBase64(step.bytes);
  if (step.do === "write") await Deno.writeFile(path, content);
  else if (step.do === "append") await Deno.writeFile(path, content, { append: true });
  else if (step.do === "remove") await Deno.remove(path, { recursive: true });
  else if (step.do === "rename") {
    const to = `${root}/${step.to}`;
    await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
    await Deno.rename(path, to);
  } else if (step.do === "mode") await Deno.chmod(path, step.mode!);
  else if (step.do === "wait") await new Promise((resolve) => setTimeout(resolve, step.ms));
  else if (step.do === "link") await Deno.symlink(step.to!, path);
  else {
    await Deno.remove(path, { recursive: true });
    await Deno.mkdir(path);
    await Deno.writeFile(`${root}/${step.to}`, content);
  }
}

await serve({
  initialize: (params) => initialize(params, { tools: {} }),
  "tools/list": () => ({
    tools: [
      {
        name: "change",
        description: "Changes files, one step after another",
        inputSchema: { type: "object", properties: { steps: { type: "array" } }, required: ["steps"] },
      },
      {
        name: "read",
        description: "Reads a file",
        inputSchema: { type: "object", properties: { path: string }, required: ["path"] },
        annotations: { readOnlyHint: true },
      },
    ],
  }),
  "tools/call": async ({ name, arguments: given }) => {
    const { steps, path } = given as Message & { steps: Step[]; path: string };
    if (name === "read") return text(await Deno.readTextFile(`${root}/${path}`));
    for (const step of steps) await make(step);
    return text(`${steps.length} steps`);
  },
});
