import type { Config } from "../../config/mod.ts";
import { calledId } from "../../model/mod.ts";
import { denied, judge, judgeAddress } from "../../policy/mod.ts";
import type { Stage } from "./stage.ts";

/** Judges the call: ends a forbidden one, and notes the rule that wants a human's approval. */
export function rules(policy: Config["policy"]): Stage {
  return async (call, next) => {
    const { method, address: { server, name } } = call;
    const id = calledId(call);
    const verdict = method === "tools/call" ? judge(policy, id) : judgeAddress(policy, server, name);
    if (verdict.kind === "deny") throw denied(id, verdict);
    if (verdict.kind === "allow") return await next(call);
    return await next({ ...call, asks: `policy.approve has "${verdict.pattern}"` });
  };
}
