// deno task schema: writes workflow.schema.json, by which editors complete and check workflow files.
import { workflowSchema } from "../src/workflow/saved/json_schema.ts";
import { ROOT } from "./fixtures/gateway.ts";

export const schemaText = () => `${JSON.stringify(workflowSchema(), null, 2)}\n`;

if (import.meta.main) await Deno.writeTextFile(`${ROOT}workflow.schema.json`, schemaText());
