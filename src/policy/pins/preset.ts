import type { Config } from "../../config/mod.ts";
import type { PinPreset } from "./lists.ts";

/** The preset that judges changed definitions: `standard` where the configuration names none. */
export function presetOf(policy: Config["policy"]): PinPreset {
  const { preset } = policy as { readonly preset?: PinPreset };
  return preset ?? "standard";
}
