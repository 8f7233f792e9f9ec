import { MEANT, parseInput, textResult } from "../../call/mod.ts";
import {
  cacheKey,
  callsAs,
  chosenTools,
  codeAnswer,
  type OnActing,
  runCode,
  typeProblems,
  typesAnswer,
  typesFor,
  unfenced,
} from "../../code/mod.ts";
import { describeEffects } from "../../dag/mod.ts";
import type { Json } from "../../model/mod.ts";
import { z } from "../../../deps.ts";
import { DEFINITIONS } from "./definitions.ts";
import type { GatewayTool } from "./tool.ts";

const INPUT = z.strictObject({
  code: z.string().min(1).max(256 * 1024),
  intent: z.string().min(1).max(2_000).optional(),
  context: z.record(z.string(), z.unknown()).optional(),
  options: z.strictObject({
    timeout_ms: z.number().int().min(1).max(600_000).optional(),
    memory_mb: z.number().int().min(64).max(4_096).optional(),
    tools: z.array(z.string().min(1).max(300)).max(50).optional(),
    typecheck: z.boolean().optional(),
    cache: z.boolean().optional(),
  }).optional(),
});

/** Runs the model's own TypeScript in the cage, with every tool inside. */
export const executeCode: GatewayTool = {
  definition: DEFINITIONS.execute_code,
  label: "agentcards:execute_code",
  run: async (session, { input }, caller) => {
    const { code: sent, intent, context: given = {}, options = {} } = parseInput(INPUT, input);
    const code = unfenced(sent);
    const context = given as Json;
    const effects: { readonly tool: string; hasActed?: boolean }[] = [];
    const onActing: OnActing = (tool) => {
      const effect: typeof effects[number] = { tool };
      effects.push(effect);
      return (hasActed) => effect.hasActed = hasActed;
    };
    const meant = new Map<string, string>();
    const chosen = await chosenTools(session, { intent, named: options.tools });
    if (options.typecheck) {
      const checker = await session.code.types();
      const problems = await checker.check(await typesFor(session, code), caller.signal, session);
      if (problems.length > 0) return { kind: "result", result: textResult(typesAnswer(problems, chosen), true) };
    }
    const key = options.cache ? await cacheKey(session, code, context) : undefined;
    const before = key === undefined ? undefined : session.code.cache.find(key);
    const outcome = before ?? await runCode(await session.code.sandbox(), session, { code, context, deps: {} }, {
      signal: caller.signal,
      caller,
      call: callsAs(session, caller, onActing, (asked, tool) => meant.set(asked, tool)),
      limits: {
        ...options.timeout_ms !== undefined && { wallMs: options.timeout_ms },
        ...options.memory_mb !== undefined && { memoryMb: options.memory_mb },
      },
    });
    if (key !== undefined && !before) session.code.cache.keep(key, outcome);
    const { result } = outcome;
    const problems = result.ok || options.typecheck
      ? []
      : await typeProblems(result.error, { session, code, checker: session.code.types, signal: caller.signal });
    const isCached = before !== undefined;
    const named = (wanted?: boolean) => effects.filter(({ hasActed }) => hasActed === wanted).map(({ tool }) => tool);
    const acted = describeEffects(named(true), named()).trim();
    const { json, isError } = await codeAnswer(outcome, session, { chosen, isCached, acted, problems });
    const about = meant.size > 0 && { _meta: { [MEANT]: Object.fromEntries(meant) } };
    return { kind: "result", result: { ...textResult(json, isError), ...about } };
  },
};
