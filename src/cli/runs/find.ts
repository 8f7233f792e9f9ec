import { AgentCardsError } from "../../model/mod.ts";
import { ask } from "../ask.ts";

const WHOLE = /^wf_[0-9a-f]{16}$/;
const PREFIXES = ["", "wf_", "ap_"];
const LOOKED_AT = 1_000;

/** The whole id of a run that may be named by how its id begins. */
export async function runId(given: string): Promise<string> {
  if (WHOLE.test(given)) return given;
  const runs = await ask({ method: "runs", params: { limit: LOOKED_AT } });
  return only(given, runs)?.id ?? given;
}

/** The one thing whose id begins as given; an error when there are several. */
export function only<T extends { readonly id: string }>(given: string, all: readonly T[]): T | undefined {
  const found = all.filter(({ id }) => given !== "" && PREFIXES.some((prefix) => id.startsWith(prefix + given)));
  if (found.length <= 1) return found[0];
  throw new AgentCardsError("USAGE", `Several runs begin with "${given}"`, {
    hint: `Say more of it: ${found.slice(0, 5).map(({ id }) => id).join(", ")}${found.length > 5 ? ", …" : ""}`,
  });
}
