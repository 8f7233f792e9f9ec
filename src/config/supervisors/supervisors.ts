import { z } from "../../../deps.ts";
import { durationUpTo, UNITS } from "../duration.ts";

/** The section `supervisors` of the user's own file. */
export const supervisorsSchema = z.array(z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][\w-]{0,63}$/, "must be letters, digits, _ or -"),
  /** The scope of its looks: each run, the runs of each folder, or the engine. */
  scope: z.enum(["run", "project", "system"]),
  every: durationUpTo(UNITS.d!).refine((ms) => ms >= 100, "must be at least 100ms").optional(),
  /** A condition in CEL over `run`, `project` or `system`. */
  when: z.string().min(1).max(2_000),
  /** `rule`: the condition is enough; else the agent that judges once it holds. */
  use: z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, "must be rule, or the name of an agent").optional(),
  then: z.array(z.enum(["report", "pause", "abort", "alert"])).min(1).optional(),
  /** The text of its report. */
  say: z.string().min(1).max(2_000).optional(),
  /** Names of `notify.channels`; those that are for what a person has to do where none is named. */
  channels: z.array(z.string().min(1).max(64)).max(20).optional(),
})).max(100).superRefine((all, context) => {
  const names = all.map(({ name }) => name);
  names.forEach((name, i) => {
    if (names.indexOf(name) < i) context.addIssue({ code: "custom", path: [i, "name"], message: "is there twice" });
  });
  all.forEach(({ scope, use = "rule" }, i) => {
    if (scope !== "system" || use === "rule") return;
    context.addIssue({
      code: "custom",
      path: [i, "use"],
      message: "an agent works in a folder: scope is run or project",
    });
  });
});

/** Looks at runs or at the engine now and then, and does something about what it sees. */
export type Supervisor = Readonly<z.infer<typeof supervisorsSchema>[number]>;
