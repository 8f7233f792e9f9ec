import { locateHome } from "../../src/config/home.ts";
import { askEngine } from "../../src/control/client.ts";
import { PROGRAM, type TestHome } from "../fixtures/gateway.ts";

/** Asks the home's engine, starting it when there is none, from a folder that has no runs. */
export function askHome<T = unknown>(home: TestHome, method: string, params: Record<string, unknown> = {}): Promise<T> {
  const target = { home: locateHome(home.env), cwd: "/", env: home.env, program: PROGRAM };
  return askEngine<T>(target, { method, params });
}
