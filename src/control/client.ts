import type { ConnectOptions } from "../serve/mod.ts";
import type { MethodName, Result } from "./api.ts";
import { type ControlRequest, openControl } from "./link.ts";

/** Asks the engine and closes the connection again. */
export async function askEngine<M extends MethodName>(
  options: Omit<ConnectOptions, "kind">,
  request: ControlRequest<M>,
): Promise<Result<M>> {
  const link = await openControl(options);
  try {
    return await link.ask(request);
  } finally {
    link.close();
  }
}
