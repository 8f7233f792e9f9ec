import { locateHome } from "../../src/config/home.ts";
import { askEngine, type ControlRequest, type MethodName, type Result } from "../../src/control/mod.ts";
import { PROGRAM, type TestHome } from "../fixtures/gateway.ts";

/** Asks the home's engine, starting it when there is none, from a folder that has no runs. */
export function askHome<M extends MethodName>(
  home: TestHome,
  method: M,
  params: ControlRequest<M>["params"] = {} as never,
): Promise<Result<M>> {
  const target = { home: locateHome(home.env), cwd: "/", env: home.env, program: PROGRAM };
  return askEngine(target, { method, params });
}
