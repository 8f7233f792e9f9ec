import { locateHome } from "../config/home.ts";
import { askEngine, type ControlRequest } from "../gateway/control_client.ts";
import { ownProgram } from "./own_program.ts";

/** A question to the engine, asked from this folder where no other is named. */
export interface Question extends ControlRequest {
  readonly cwd?: string | undefined;
}

/** Asks this home's engine, starting one when there is none. */
export function ask<T>({ cwd = Deno.cwd(), ...request }: Question): Promise<T> {
  const env = Deno.env.toObject();
  return askEngine<T>({ home: locateHome(env), cwd, env, program: ownProgram() }, request);
}
