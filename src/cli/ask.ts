import { locateHome } from "../config/home.ts";
import { askEngine, type ControlRequest } from "../gateway/control_client.ts";
import { ownProgram } from "./own_program.ts";

/** Asks this home's engine, starting one when there is none. */
export function ask<T>(request: ControlRequest): Promise<T> {
  const env = Deno.env.toObject();
  return askEngine<T>({ home: locateHome(env), cwd: Deno.cwd(), env, program: ownProgram() }, request);
}
