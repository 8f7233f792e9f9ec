import { type ConfigFile, databaseAddress, type Home, readConfigFile } from "../config/mod.ts";
import type { Gateway } from "../control/mod.ts";
import { ranMs, type RunState } from "../dag/mod.ts";
import { AgentCardsError } from "../model/mod.ts";
import { fs, unrefTimer } from "../platform/start.ts";
import { type Audit, chainOf, costOf, followAudit } from "../policy/mod.ts";
import { type Analytics, createAnalytics } from "../stats/mod.ts";
import type { Redactor } from "../telemetry/mod.ts";
import type { RunListener } from "../workflow/mod.ts";
import { engineIdentity } from "./identity.ts";

const EVERY_MS = 15_000;
const CLOSE_MS = 1_000;

/** The copy of the audit's figures to the PostgreSQL that the configuration names, if it names one. */
export interface AnalyticsCopy extends AsyncDisposable {
  state: Gateway["analytics"];
}

/** Looks at the configuration each time: it may be switched on or off while the engine runs. */
export function startAnalytics(home: Home, redactor: Redactor): AnalyticsCopy {
  let copy: Analytics | undefined;
  let file: ConfigFile = {};
  let seen = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;

  /** The present configuration; the last good one while the file is broken. */
  async function readAgain(): Promise<void> {
    const { mtime, size } = await fs.stat(home.config);
    const now = `${mtime?.getTime()} ${size}`;
    if (now === seen) return;
    seen = now;
    const before = file.analytics?.postgres;
    file = await readConfigFile(home.config);
    if (before === file.analytics?.postgres) return;
    await copy?.close();
    copy = file.analytics?.postgres === undefined ? undefined : createAnalytics({
      folder: home.analytics,
      engine: (await engineIdentity(home)).id,
      source: () => recordOf(home),
      costOf: (tool) => costOf(file.policy?.speculate?.costs ?? {}, tool),
      open: () => connect(home, file.analytics?.postgres, redactor),
    });
  }

  async function look(): Promise<void> {
    await readAgain().catch(() => {});
    await copy?.copy();
    if (!isClosed) next(file.analytics?.every ?? EVERY_MS);
  }

  function next(ms: number): void {
    timer = setTimeout(() => void look(), ms);
    unrefTimer(timer as unknown as number);
  }

  void look();
  return {
    state: async () => await copy?.state() ?? null,
    async [Symbol.asyncDispose]() {
      isClosed = true;
      clearTimeout(timer);
      const late = new Promise<void>((resolve) => unrefTimer(setTimeout(resolve, CLOSE_MS) as unknown as number));
      // What is new now waits in the audit for the next engine.
      await Promise.race([copy?.close(), late]);
    },
  };
}

function recordOf({ audit }: Home) {
  const chain = chainOf(audit);
  return chain === undefined ? undefined : { chain, follow: (after: number) => followAudit(audit, after) };
}

async function connect(home: Home, address: string | undefined, redactor: Redactor) {
  if (address === undefined) throw new AgentCardsError("CONFIG_INVALID", "analytics.postgres is not set any more");
  const { url, secrets } = await databaseAddress(home, address);
  redactor.add(secrets);
  const { openPostgres } =
    await (import("../db/postgres/open.ts" as string) as Promise<typeof import("../db/postgres/open.ts")>);
  return await openPostgres(url, { connections: 1, isOwn: false });
}

/** Writes a row of the audit for each run that is over. */
export function auditRuns(audit: Audit, stateOf: (run: string) => RunState | undefined): RunListener {
  return (run, event, { client, cwd }) => {
    if (event.kind !== "finished") return;
    const state = stateOf(run);
    const tasks = state && [...state.tasks.values()];
    audit.append({
      kind: "run",
      parent: run,
      outcome: event.status,
      client: client.name,
      folder: cwd,
      ...state && {
        ms: Math.round(ranMs(state)),
        tasks: tasks!.length,
        failed: tasks!.filter(({ status }) => status === "error" || status === "failed_safe").length,
      },
    });
  };
}
