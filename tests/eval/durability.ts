import type { Durability } from "../../src/db/pglite/worker.ts";

/** The option `--durability`, as in the configuration. */
export function durabilityOf(given: string | undefined): Durability {
  if (given === "power" || given === "process") return given;
  throw new Error("--durability is power or process");
}
