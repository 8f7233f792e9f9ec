import { CLIENT_NAMES, type Move, type Origin } from "../../config/mod.ts";
import { describe, toAgentCardsError } from "../../model/mod.ts";
import { applyPlan, type Outcome } from "./apply.ts";
import type { InitIo, InitOptions } from "./io.ts";
import { makePlan, type Plan } from "./plan.ts";
import { plural } from "../screen/terminal.ts";
import { commandLine, showNothing, showOutcome, showPlan } from "./show.ts";
import { undoCommand } from "./undo_command.ts";
import { undo } from "./undo.ts";
import { jsonLine } from "../json_out.ts";

export type { InitIo, InitOptions, ProbeResult } from "./io.ts";

/** Moves the servers of the user's MCP clients behind AgentCards, or back. Returns the exit code. */
export async function init(options: InitOptions, io: InitIo): Promise<number> {
  try {
    return options.undo ? await undo(options, io) : await setUp(options, io);
  } catch (error) {
    const { code, message, hint } = toAgentCardsError(error);
    if (options.json) io.out(jsonLine({ error: { code, message, hint } }));
    else io.err(describe(error) + "\n");
    return code === "USAGE" ? 2 : 1;
  }
}

async function setUp(options: InitOptions, io: InitIo): Promise<number> {
  const plan = await makePlan(options, io);
  const say = (text: string) => options.json || io.out(text);
  const finish = (code: number, outcome?: Outcome) => {
    if (options.json) io.out(jsonLine(summary(plan, { options, io, outcome })));
    return code;
  };
  if (plan.moves.length === 0) {
    say(showNothing(plan, io));
    return finish(plan.problems.length > 0 && plan.sources.length === 0 ? 1 : 0);
  }
  say(showPlan(plan, io));
  if (options.dryRun) {
    say("\nNothing was changed (--dry-run).\n");
    return finish(0);
  }
  if (!options.yes) {
    if (!io.isTerminal || options.json) {
      io.err(
        "Cannot ask whether to go on: there is no terminal to ask at. Add --yes to do this, or --dry-run to only look.\n",
      );
      return finish(2);
    }
    const count = plan.moves.length;
    if (!await io.confirm(`Move ${count} ${plural(count, "server")} behind AgentCards?`)) {
      say("Nothing was changed.\n");
      return 1;
    }
  }
  const outcome = await applyPlan(plan, io);
  say("\n" + showOutcome(plan, outcome, io));
  return finish(outcome.failures.length > 0 ? 1 : 0, outcome);
}

interface Summing {
  readonly options: InitOptions;
  readonly io: InitIo;
  readonly outcome?: Outcome;
}

/** Everything as one object. Of variables and headers only the names are shown. */
function summary(plan: Plan, { options, io, outcome }: Summing): Record<string, unknown> {
  return {
    dry_run: options.dryRun,
    applied: outcome !== undefined,
    servers: plan.moves.map((move) => ({ ...describeMove(move), ...probeOf(move.name, outcome) })),
    stays: plan.stays.map((stay) => ({ ...where(stay), reason: stay.reason })),
    problems: [...plan.problems, ...plan.permissions.problems],
    looked: plan.looked,
    secrets: Object.keys(plan.secrets),
    configs: Object.values((outcome ?? plan).targets).filter(({ before, after }) => before !== after).map(
      ({ path, additions }) => {
        return { path, deny: additions.deny, approve: additions.approve, allow: additions.allow ?? [] };
      },
    ),
    clients: plan.changes.map(({ client, path, edit }) => ({
      client,
      path,
      loses: edit.remove.map(({ name }) => name),
      ...edit.allow && { allows: edit.allow },
    })),
    rules: plan.permissions.rules,
    hooks: plan.permissions.hooks,
    ...(outcome && {
      changed: outcome.changed,
      kept: outcome.kept,
      failures: outcome.failures,
      backups: outcome.backups.map(({ dir }) => dir),
      tokens: { before: outcome.probes.reduce((sum, { tokens }) => sum + tokens, 0), after: io.ownTokens },
      undo: undoCommand(io),
    }),
  };
}

function where({ source, name }: Pick<Origin, "source" | "name">): Record<string, unknown> {
  return { client: CLIENT_NAMES[source.client], scope: source.scope, path: source.path, name };
}

function describeMove({ name, server, target, origins, isKnown, needs, notes }: Move): Record<string, unknown> {
  const { disabled = false, env = {}, headers = {}, clients = null } = server;
  const shown = { runs: commandLine(server), disabled, env: Object.keys(env), headers: Object.keys(headers) };
  return { name, ...shown, clients, target, known: isKnown, from: origins.map(where), needs, notes };
}

function probeOf(name: string, outcome: Outcome | undefined): Record<string, unknown> {
  const probe = outcome?.probes.find(({ server }) => server === name);
  if (!probe) return {};
  const { ok, tools, tokens, ms, error } = probe;
  return { probe: { ok, tools, tokens, ms, error } };
}
