// deno task api: writes docs/API.md from the comments of mod.ts, by `deno doc`.
import { ROOT } from "./fixtures/gateway.ts";

const HEAD = `# The library

Made by \`deno task api\` from the comments of \`mod.ts\`; \`tests/api_doc_test.ts\` keeps it true, and \`tests/mod_test.ts\`
(Deno) and \`tests/library_test.ts\` (Node) run what it shows.

\`\`\`text
`;

/** The page as the comments say it now. */
export async function apiPage(): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", `${ROOT}mod.ts`],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  if (code !== 0) throw new Error(decoder.decode(stderr));
  const text = decoder.decode(stdout).split("\n").filter((line) => !/^\s*Defined in /.test(line))
    .map((line) => line.trimEnd()).join("\n").replace(/\n{3,}/g, "\n\n").replaceAll("```", "'''").trim();
  return `${HEAD}${text}\n\`\`\`\n`;
}

if (import.meta.main) await Deno.writeTextFile(`${ROOT}docs/API.md`, await apiPage());
