import type { Database } from "../../db/mod.ts";
import type { RunOptions, Task } from "../../dag/mod.ts";
import type { Json } from "../../model/mod.ts";

/** A workflow as versions before 0.3 kept it in the database. */
export interface Template {
  readonly name: string;
  readonly description: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly task: string;
    readonly argument: string;
    readonly type: "string" | "number" | "boolean";
    /** Its value when the workflow was saved; without one it has to be said. */
    readonly usual?: Json;
  }[];
  readonly tasks: readonly Task[];
  readonly pause?: RunOptions["pause"];
}

export async function readTemplates(db: Database): Promise<Template[]> {
  const rows = await db.query<Omit<Template, "tasks" | "pause"> & { tasks: string }>(
    "select name, description, parameters, tasks from workflow_template order by name",
  );
  return rows.map(({ tasks, ...row }) => ({ ...row, ...JSON.parse(tasks) as Pick<Template, "tasks" | "pause"> }));
}
