import { type Budget, createBudget } from "../graphrag/budget.ts";
import { callName, type Foreseen } from "../graphrag/foresight.ts";
import { COUNTED_ON, WASTE } from "../graphrag/rule.ts";
import type { Reply } from "../mcp/upstream.ts";
import { isObject } from "../model/json.ts";
import { splitToolId, toolId } from "../model/tool.ts";
import { costOf, maySpeculate } from "../policy/speculation.ts";
import { putToServer } from "./execute.ts";
import type { MadeAhead } from "./notice.ts";
import type { Session } from "./session.ts";

/** What became of calls that were made ahead. */
export interface AheadCounts {
  made: number;
  used: number;
  /** Nobody asked for them in time, something else came between, or they failed. */
  unused: number;
  saved_ms: number;
  wasted_ms: number;
  /** All calls that somebody asked for, and how long they took. */
  calls: number;
  calls_ms: number;
}

/** What calls made ahead share in an engine: how much may be wasted and paid, what was. */
export interface AheadAccount {
  readonly counts: AheadCounts;
  readonly budget: Budget;
  /** How long calls of a tool take. */
  readonly durations: Map<string, number>;
  /** A call that somebody asked for took this long. */
  note(tool: string, ms: number): void;
  /** Whether a call that costs something can still be paid for. */
  canPay(usd: number, limit: number): boolean;
  pay(usd: number): void;
  /** Something has changed: it is to be kept. */
  keep(): void;
  restore(kept: unknown): void;
}

const HOUR_MS = 3_600_000;
const REMEMBERED = 0.8;

export function createAccount(onChange: (kept: Record<string, unknown>) => void): AheadAccount {
  const counts: AheadCounts = { made: 0, used: 0, unused: 0, saved_ms: 0, wasted_ms: 0, calls: 0, calls_ms: 0 };
  const budget = createBudget(WASTE);
  const durations = new Map<string, number>();
  let paid: { readonly at: number; readonly usd: number }[] = [];
  const keep = () => onChange({ ...counts, ...budget.sum(), paid });
  return {
    counts,
    budget,
    durations,
    note(tool, ms) {
      budget.note(ms);
      counts.calls++;
      counts.calls_ms += ms;
      durations.set(tool, REMEMBERED * (durations.get(tool) ?? ms) + (1 - REMEMBERED) * ms);
    },
    canPay(usd, limit) {
      paid = paid.filter(({ at }) => at > Date.now() - HOUR_MS);
      return paid.reduce((sum, one) => sum + one.usd, usd) <= limit;
    },
    pay(usd) {
      if (usd > 0) paid.push({ at: Date.now(), usd });
    },
    keep,
    restore(kept) {
      if (!isObject(kept)) return;
      const amount = (value: unknown) => typeof value === "number" && Number.isFinite(value) ? Math.max(0, value) : 0;
      for (const key of ["used", "unused", "saved_ms", "wasted_ms", "calls", "calls_ms"] as const) {
        counts[key] += amount(kept[key]);
      }
      // What an engine had under way when it was killed came to nothing that anybody could count.
      counts.made += amount(kept.used) + amount(kept.unused);
      budget.restore({ total: amount(kept.total), wasted: amount(kept.wasted) });
      const old = Array.isArray(kept.paid) ? kept.paid.filter(isObject) : [];
      paid.push(...old.map(({ at, usd }) => ({ at: amount(at), usd: amount(usd) })));
    },
  };
}

/** The calls of one session that were made before anybody asked for them. */
export interface AheadCalls {
  /** Makes those of the calls that may be made. */
  make(foreseen: readonly Foreseen[]): void;
  /** The answer to exactly this call, if it was made; undefined inside where it came to nothing. */
  take(server: string, request: Record<string, unknown>): Promise<MadeAhead | undefined> | undefined;
  /** What was read from a server is not true any more. */
  drop(server: string): void;
  close(): void;
}

const KEPT_MS = 30_000;
const LONGEST_MS = 5_000;
/** What usually takes nearly as long as it may is not begun. */
const TOO_SLOW_MS = 4_000;
const AT_ONCE = 3;
const USUAL_MS = 100;
const MARK = "agentcards/speculated";

interface Made {
  readonly server: string;
  readonly reply: Promise<Reply | undefined>;
  readonly stop: AbortController;
  readonly began: number;
  /** How long it took; 0 while it is under way. */
  ms: number;
  /** Says once what became of it. */
  end(used: boolean): void;
}

export function createAheadCalls(session: Session, account: AheadAccount): AheadCalls {
  const made = new Map<string, Made>();
  const { counts, budget, durations } = account;

  function isWorthwhile({ tool: id, call, bound }: Foreseen): boolean {
    const { policy } = session.config;
    const { server = "", name } = splitToolId(id);
    const tool = session.inMemory(server, name);
    const ms = durations.get(id) ?? USUAL_MS;
    return bound >= COUNTED_ON && tool !== undefined && !made.has(call) && made.size < AT_ONCE &&
      maySpeculate(policy, tool) && isFree(server) && ms <= TOO_SLOW_MS && budget.allows(ms) &&
      account.canPay(costOf(policy, id), policy.speculate.cost_usd);
  }

  /** Running, and waited for by nobody: a question of its could not be told from one of a call that somebody made. */
  function isFree(name: string): boolean {
    const running = session.status().find(({ config }) => config.name === name)?.server;
    return running?.status().state === "running" && session.callers(name).size === 0;
  }

  function start({ tool: id, call, arguments: args }: Foreseen): void {
    const { server, name } = splitToolId(id) as { server: string; name: string };
    const stop = new AbortController();
    const began = performance.now();
    const settle = budget.risk(durations.get(id) ?? USUAL_MS);
    account.pay(costOf(session.config.policy, id));
    counts.made++;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const answered = (answer: Reply | undefined) => {
      entry.ms = performance.now() - began;
      if (!answer || !isGood(answer)) {
        forget(call, entry);
        return undefined;
      }
      timer = setTimeout(() => forget(call, entry), KEPT_MS);
      return answer;
    };
    const request = { name, arguments: args };
    const reply = putToServer(session, { server, request, timeoutMs: LONGEST_MS }, { signal: stop.signal })
      .then(answered, () => answered(undefined));
    let isOver = false;
    const entry: Made = {
      server,
      reply,
      stop,
      began,
      ms: 0,
      end(used) {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        const ms = entry.ms || performance.now() - began;
        settle({ used, ms });
        if (used) counts.used++;
        else {
          counts.unused++;
          counts.wasted_ms += ms;
        }
        account.keep();
      },
    };
    made.set(call, entry);
  }

  function forget(call: string, entry: Made): void {
    if (made.get(call) === entry) made.delete(call);
    entry.stop.abort();
    entry.end(false);
  }

  return {
    make(foreseen) {
      for (const one of foreseen) if (isWorthwhile(one)) start(one);
    },
    take(server, request) {
      if (made.size === 0) return undefined;
      const call = isPlain(request) ? callName(toolId(server, request.name as string), request.arguments) : undefined;
      const entry = call === undefined ? undefined : made.get(call);
      // Something else came: what is still under way there was a wrong guess, and must not get in its way.
      for (const [other, one] of made) if (one !== entry && one.server === server && one.ms === 0) forget(other, one);
      if (!entry) return undefined;
      made.delete(call!);
      const asked = performance.now();
      return entry.reply.then((reply) => {
        const isUsed = reply?.kind === "result";
        if (isUsed) counts.saved_ms += Math.max(0, entry.ms - (performance.now() - asked));
        entry.end(isUsed);
        return isUsed ? { reply: marked(reply, Math.round(asked - entry.began)), ms: entry.ms } : undefined;
      });
    },
    drop(server) {
      for (const [call, entry] of made) if (entry.server === server) forget(call, entry);
    },
    close() {
      for (const [call, entry] of made) forget(call, entry);
    },
  };
}

/** A failure, a question or something very large is nothing to keep: whoever asks gets an answer of their own. */
function isGood(reply: Reply): boolean {
  return reply.kind === "result" && reply.result.isError !== true && reply.result.resultType !== "input_required";
}

/** Whether a request is a tool and its arguments, nothing that answers a question. */
function isPlain(request: Record<string, unknown>): boolean {
  return request.inputResponses === undefined && request.requestState === undefined;
}

function marked(reply: Extract<Reply, { kind: "result" }>, age: number): Reply {
  const { result } = reply;
  const meta = isObject(result._meta) ? result._meta : {};
  return { kind: "result", result: { ...result, _meta: { ...meta, [MARK]: { age_ms: age } } } };
}
