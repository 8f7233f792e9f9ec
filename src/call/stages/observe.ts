import { type Call, type CallResult, isFailure, toolId } from "../../model/mod.ts";
import type { Observer } from "../observer.ts";
import type { Stage } from "./stage.ts";

/** Hands every call that ended, refused ones too, to learning and statistics. */
export function observe(observer: Pick<Observer, "ended">): Stage {
  return async (call, next) => {
    const began = performance.now();
    let result: CallResult | undefined;
    try {
      return result = await next(call);
    } finally {
      observer.ended({ call, result, tool: idOf(call), ms: performance.now() - began, ok: isOk(result) });
    }
  };
}

function idOf({ address: { server, name } }: Call): string {
  return toolId(server, name);
}

function isOk(result: CallResult | undefined): boolean {
  return result !== undefined && !isFailure(result);
}
