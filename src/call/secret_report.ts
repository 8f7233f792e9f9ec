import type { Secret } from "../config/mod.ts";
import { isSecret } from "../telemetry/mod.ts";

/** A secret by its name, never by its value. */
export interface SecretName {
  readonly name: string;
  readonly places: readonly string[];
}

/** The part of `status` about secrets. */
export interface SecretsReport {
  /** Secrets that are taken out of everything that is shown or stored. */
  readonly names: readonly SecretName[];
  /** Those that are too short to be taken out. */
  readonly too_short: readonly SecretName[];
  /** Those among the arguments of a program, which every user of the machine can read. */
  readonly in_arguments: readonly SecretName[];
}

export function reportSecrets(secrets: readonly Secret[]): SecretsReport {
  return {
    names: namesOf(secrets.filter(({ value }) => isSecret(value))),
    too_short: namesOf(secrets.filter(({ value }) => !isSecret(value))),
    in_arguments: namesOf(secrets.filter(({ place }) => place.endsWith(".args"))),
  };
}

function namesOf(secrets: readonly Secret[]): SecretName[] {
  const byName = Map.groupBy(secrets, ({ name }) => name);
  return [...byName].map(([name, all]) => ({ name, places: [...new Set(all.map(({ place }) => place))] }));
}
