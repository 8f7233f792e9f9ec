import { z } from "../../../deps.ts";
import { declarations } from "../../model/declaration.ts";
import { signature } from "../../model/signature.ts";
import { cut, sanitise, tokens } from "../../model/text.ts";
import type { Tool } from "../../model/tool.ts";
import { textResult } from "../answer.ts";
import { parseInput } from "../input.ts";
import { findTools, type Found } from "../search.ts";
import type { GatewayTool } from "./tool.ts";

const INPUT = z.strictObject({
  query: z.string().min(1).max(2_000),
  limit: z.number().int().min(1).max(50).optional(),
  server: z.string().max(64).optional(),
  detail: z.enum(["signature", "types", "schema"]).optional(),
});

const BUDGET_TOKENS = 2_000;
/** One tool is shown whole, within reason. */
const LINE_LENGTH = 40_000;

/** Finds tools by what they do. */
export const searchTools: GatewayTool = {
  definition: {
    name: "search_tools",
    description:
      "Find tools of the user's MCP servers by what they do or by name. Search before saying that something cannot be done.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string" },
        limit: { type: "integer" },
        server: { type: "string" },
        detail: { type: "string", enum: ["signature", "types", "schema"] },
      },
      required: ["query"],
    },
    annotations: { readOnlyHint: true },
    _meta: { "anthropic/alwaysLoad": true },
  },
  label: () => "search_tools",
  run: async (session, { input }) => {
    const { query, limit = 8, server, detail = "signature" } = parseInput(INPUT, input);
    session.notice.asked(query);
    const found = await findTools(session, { query, limit, ...server && { server } });
    return { kind: "result", result: textResult(render(found, detail)) };
  },
};

type Detail = NonNullable<z.infer<typeof INPUT>["detail"]>;

const RENDER: Readonly<Record<Detail, (tool: Tool) => string>> = {
  signature,
  types: (tool) => declarations([tool]),
  schema: schemaText,
};

function render(found: Found, detail: Detail): string {
  const lines = found.tools.map(({ tool }) => cut(RENDER[detail](tool), LINE_LENGTH));
  const shown: string[] = [];
  let spent = 0;
  for (const line of lines) {
    spent += tokens(line);
    if (shown.length > 0 && spent > BUDGET_TOKENS) break;
    shown.push(line);
  }
  const cutOff = lines.length - shown.length;
  // One declaration for each server, so that the text as a whole can be used.
  const text = detail === "types" && shown.every((line) => line.length < LINE_LENGTH)
    ? [declarations(found.tools.slice(0, shown.length).map(({ tool }) => tool))]
    : shown;
  return [
    ...shown.length ? text : [nothingFits(found)],
    ...cutOff ? [`(${cutOff} more did not fit; ask with a smaller limit or a narrower query)`] : [],
    ...found.notes,
  ].join("\n");
}

function nothingFits({ nearest }: Found): string {
  const names = nearest.length
    ? ` (What came nearest, probably not it: ${nearest.map(({ tool }) => tool.id).join(", ")})`
    : "";
  return `No tool fits. Say it with other words, or name the service or the object it is about.${names}`;
}

function schemaText(tool: Tool): string {
  const { id, description, inputSchema, outputSchema } = tool;
  return sanitise(JSON.stringify({ tool: id, description, inputSchema, ...outputSchema && { outputSchema } }));
}
