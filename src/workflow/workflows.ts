import { checkOptions, createToolBook, type Session } from "../call/mod.ts";
import {
  createFold,
  isGenuine,
  isOver,
  kindOf,
  loadConditions,
  pendingOf,
  planAgain,
  record,
  type RunRow,
  summaryOf,
  withInput,
} from "../dag/mod.ts";
import { AgentCardsError, createTurns, messageOf, nobody, oneLine } from "../model/mod.ts";
import type { Suggestions } from "../suggest/mod.ts";
import { log } from "../telemetry/mod.ts";
import { aborted, type Carried, HELD, type Next, type OnRefused, type Resting } from "./carried.ts";
import { changesTasks, happeningsOf, isRepair, onlyHumans, type Request } from "./decisions.ts";
import { createBrokenRuns } from "./broken.ts";
import type { Decider, RunView } from "./decider.ts";
import { createLiveRuns, type LiveRun, type LiveRunsOptions } from "./live.ts";
import {
  checkFolder,
  elsewhere,
  forged,
  isResting,
  onlyHumansRestore,
  over,
  requireFolder,
  requireRestoring,
  restingState,
  runsElsewhere,
  tooLate,
  unknownRun,
} from "./resting.ts";
import type { RunListener, StartRequest, Workflows } from "./port.ts";
import { canCarry, fingerprintOf, needsOf, serversOf } from "./needs.ts";
import { isAskable, onceReadable } from "./attach.ts";
import { planDecision } from "./plan_decision.ts";
import { planWhole } from "./plan_whole.ts";

export interface WorkflowsOptions extends Omit<LiveRunsOptions, "onEvent" | "onBroken"> {
  readonly sessions: ReadonlySet<Session>;
  readonly complete: Suggestions["complete"];
  /** The machine of this engine, where others have runs in the same database. */
  readonly host?: string | undefined;
  /** Waits until the engine that a run was taken from can send nothing any more. */
  awaitEnd?(row: RunRow, signal: AbortSignal): Promise<void>;
}

export function createWorkflows(options: WorkflowsOptions): Workflows {
  const { journal, sessions, complete, host, awaitEnd } = options;
  const broken = createBrokenRuns(takeUpBroken);
  const listeners = new Set<RunListener>();
  const onEvent: RunListener = (run, event, session) => {
    for (const listener of listeners) listener(run, event, session);
  };
  const live = createLiveRuns({ ...options, onEvent, onBroken: broken.add });
  const inTurn = createTurns();

  /** True once a run that broke off runs again, or needs no runner. */
  async function takeUpBroken(id: string, session: Session): Promise<boolean> {
    if (!sessions.has(session)) return true;
    await carried(session, () => adoptOne(id, session));
    const row = live.get(id) ? undefined : await journal.find(id);
    return row?.status !== "running";
  }

  async function adoptOne(id: string, session: Session): Promise<void> {
    await inTurn(id, async () => {
      const row = live.get(id) ? undefined : await journal.find(id);
      if (row && fits(row, session) && canCarry(session, row)) await takeUp(row, session);
    });
  }

  /** True if a run belongs to the folder of a session: the same path on another machine is another folder. */
  function fits(row: RunRow, session: Session): boolean {
    return row.cwd === session.cwd && (host === undefined || row.host === null || row.host === host);
  }

  /** Goes on with a run of an engine that is gone, or with one that a person has decided about elsewhere. */
  async function take(id: string): Promise<boolean> {
    const row = await journal.find(id);
    const session = row && [...sessions].find((one) => fits(row, one) && canCarry(one, row));
    if (!session) return false;
    if (row.status === "running") await carried(session, () => adoptOne(id, session));
    else {
      const decider = { session, caller: nobody(new AbortController().signal), by: "agent" } as const;
      await applied({ workflow_id: id, action: "continue" }, decider);
    }
    return live.get(id) !== undefined;
  }

  /** Until a request is in the journal, the same request of a connection that broke must not be looked for there. */
  const keyInTurn = <T>(key: string | undefined, work: () => Promise<T>) =>
    key === undefined ? work() : inTurn(`request ${key}`, work);

  async function start({ tasks, options: wanted, name, asked }: StartRequest, decider: Decider): Promise<RunView> {
    const { session, caller } = decider;
    const key = await caller.key?.();
    const begin = async (): Promise<LiveRun | RunView> => {
      const book = createToolBook(session);
      const { plan, options } = await planWhole(withInput(tasks, wanted.input), { session, book, complete, wanted });
      checkOptions(plan, options);
      const id = `wf_${crypto.getRandomValues(new Uint8Array(8)).toHex()}`;
      const fold = createFold();
      const rows = record(fold, [{ kind: "planned", tasks: plan.tasks.map(({ task }) => task), options }]);
      if (asked) {
        const waiting = { held: new Map([[asked.task, asked]]), stopped: undefined, layers: plan.layers };
        rows.push(...record(fold, [{ kind: "paused", pending: pendingOf(fold.state, waiting) }]));
      }
      const needs = await needsOf(session, fold.state.plan);
      live.requireOpen();
      const head = { id, name: oneLine(name, 200), cwd: session.cwd, summary: summaryOf(fold.state), ...needs };
      const { priority } = options;
      const writer = journal.begin({ ...head, ...priority && { priority }, ...key !== undefined && { request: key } });
      const written = Promise.all(rows.map((row) => writer.append(row, asked && summaryOf(fold.state)))).then(() => {});
      for (const row of rows) onEvent(id, row, session);
      if (!asked) {
        const launched = live.launch(id, { session, fold, plan, writer, book, written, trace: caller.trace });
        // Before its first step: the calls of the run carry the trace of the request, and may ask its human.
        launched.watch(decider).catch(() => {});
        return launched;
      }
      await written.finally(writer.close);
      live.remember(session, id);
      return { id, state: fold.state };
    };
    const started = await keyInTurn(key, () => carried(session, begin));
    return "watch" in started ? await started.watch(decider) : started;
  }

  /** Does work for which a session must stay open: not with one whose connection is gone already. */
  async function carried<T>(session: Session, work: () => Promise<T>): Promise<T> {
    if (!sessions.has(session)) throw new AgentCardsError("ENGINE_BUSY", "This connection is closing down");
    return await live.reserve(session, work);
  }

  /** Does with a run what is asked; `onRefused` is told where that cannot be, while the run still rests. */
  function applied(request: Request, decider: Decider, onRefused?: OnRefused): Promise<LiveRun | RunView> {
    const { workflow_id: id } = request;
    // Whether a run is running or rests must not change while somebody decides about it.
    return inTurn(id, async () => {
      const running = live.get(id);
      if (running?.state.status === "running") {
        checkFolder(id, running.session.cwd, decider);
        await steer(running, request, decider);
        return running;
      }
      // One that has just come to rest is not running any more; its last row is on the way.
      await running?.settled.catch(() => {});
      const row = await journal.find(id);
      if (!row) throw unknownRun(id);
      checkFolder(id, row.cwd, decider);
      const carrier = carrierOf(row, decider);
      const work = () => rest(request, decider, { row, carrier });
      try {
        return carrier ? await carried(carrier, work) : await work();
      } catch (error) {
        if (carrier) await onRefused?.(row, carrier);
        throw error;
      }
    });
  }

  async function resume(given: Request, decider: Decider): Promise<RunView> {
    const { action } = given;
    const request = action === "status" ? given : { ...given, key: await decider.caller.key?.() };
    const held = changesTasks(action) ? await holdFor(request, decider) : undefined;
    let next: LiveRun | undefined;
    const goOnHeld: OnRefused = async (row, carrier) => {
      next = await carried(carrier, () => goOnAsBefore(row, carrier)).catch(() => undefined);
    };
    try {
      const found = await keyInTurn(request.key, () => applied(request, decider, held && goOnHeld));
      if (!("watch" in found)) return found;
      next = found;
      return action === "status" ? found : await found.watch(decider);
    } finally {
      // Whoever waited for the run before it was held waits for what it goes on as.
      held?.resolve(next);
    }
  }

  async function attach(key: string, decider: Decider, onPlaced: () => void): Promise<RunView | undefined> {
    const { signal } = decider.caller;
    const found = await keyInTurn(key, async (): Promise<LiveRun | RunView | undefined> => {
      const workflow_id = await onceReadable(() => journal.runOf(key), signal);
      if (workflow_id === undefined) return undefined;
      const found = await applied({ workflow_id, action: "status", isAttached: true }, decider);
      // It was taken up before anybody could be asked: now somebody can.
      return isAskable(found.state, decider.caller)
        ? await applied({ workflow_id, action: "continue", key }, decider).catch(() => found)
        : found;
    }).finally(onPlaced);
    return found && "watch" in found ? await found.watch(decider) : found;
  }

  /** Brings a run that is running to a rest, so that its tasks can be changed. */
  async function holdFor(request: Request, decider: Decider): Promise<LiveRun["handOver"] | undefined> {
    const running = live.get(request.workflow_id);
    if (running?.state.status !== "running") return undefined;
    checkFolder(running.id, running.session.cwd, decider);
    // A decision that would be refused must not make the run stop.
    const plan = await planDecision(request, running, running.state);
    happeningsOf(request, decider.by, { state: running.state, plan });
    const { handOver } = running;
    handOver.isDue = true;
    running.run.hold(HELD);
    const { signal } = decider.caller;
    await Promise.race([running.settled.catch(() => {}), aborted(signal)]);
    return handOver;
  }

  /** A run that was only held for a decision that was refused goes on as if nothing had been. */
  async function goOnAsBefore(row: RunRow, session: Session): Promise<LiveRun | undefined> {
    const fold = await journal.open(row.id);
    const { pending } = fold.state;
    if (pending?.reason !== "waiting" || pending.why !== HELD) return undefined;
    return await goOn({ row, fold }, { decided: [], session, book: createToolBook(session), why: "as before" });
  }

  /** Answers a request about a run that is not running. */
  async function rest(request: Request, decider: Decider, { row, carrier }: Carried): Promise<LiveRun | RunView> {
    const { workflow_id: id, action } = request;
    // What a crash interrupted goes on by itself, but not with tasks that are about to be changed.
    const watcher = action !== "status" || request.isAttached ? decider : undefined;
    const resumed = changesTasks(action) ? undefined : await takeUp(row, carrier, watcher);
    if (resumed) {
      await steer(resumed, request, decider);
      return resumed;
    }
    const fold = await journal.open(id);
    const { state } = fold;
    await loadConditions(state.plan);
    if (isOver(state)) {
      if (action === "status" || action === "continue") return { id, state };
      if (state.status === "completed" || !isRepair(action)) throw over(id, state);
      if (!carrier) throw elsewhere(id, row);
    }
    if (state.status === "running" && !isResting(row)) {
      if (action === "status") return { id, state };
      throw runsElsewhere(row);
    }
    return action === "status"
      ? { id, state: restingState(state) }
      : await decide(request, decider, { row, fold, carrier });
  }

  /** A decision about a run that rests. */
  async function decide(
    request: Request,
    decider: Decider,
    { row, fold, carrier }: Resting & Carried,
  ): Promise<LiveRun | RunView> {
    const { action } = request;
    const isAgents = decider.by === "agent" && (action === "approve" || action === "reject");
    // Where the client can put the question to its human, going on means asking; the agent's own word counts nothing.
    if (isAgents && (decider.caller.human.kind === "nobody" || fold.state.pending?.reason !== "approval")) {
      throw onlyHumans(row.id);
    }
    const { isRestored } = fold.state;
    if (isRestored && action !== "abort") {
      if (decider.by === "agent") throw onlyHumansRestore(row.id);
      requireRestoring(row.id, action, fold.state);
    }
    // To abort a run, nothing has to be started; what became of a restored run's tasks is only written down.
    const isNoted = isRestored && action === "resolve";
    const session = isNoted ? undefined : carrier ?? (action === "abort" ? decider.session : undefined);
    if (session && action !== "abort") await requireFolder(row);
    if ((action === "inject" || action === "replace") && !session) throw elsewhere(row.id, row);
    if (action === "resolve" && request.outcome === "retry") await awaitEnd?.(row, decider.caller.signal);
    const book = createToolBook(session ?? decider.session);
    const plan = session && await planDecision(request, { session, book }, fold.state);
    // To make the call again where nobody could answer it again would only do again what it had begun.
    const isInVain = action === "continue" && fold.state.pending?.reason === "question" &&
      decider.caller.human.kind === "nobody";
    if (isInVain) return { id: row.id, state: fold.state };
    const wanted: Request = isAgents ? { ...request, action: "continue" } : request;
    const state = restingState(fold.state);
    if (action === "approve" && state.pending && !await isGenuine(row.id, state.pending)) throw forged(row.id);
    const decided = happeningsOf(wanted, decider.by, { state, plan });
    if (session) return await goOn({ row, fold }, { decided, session, book, why: action, watcher: decider });
    if (decider.by !== "human" || action === "continue") throw elsewhere(row.id, row);
    // Nobody is there who could carry the run on: the decision is kept until somebody is.
    const events = record(fold, decided);
    if (!await journal.note(row, events, summaryOf(fold.state))) throw tooLate(row.id);
    for (const event of events) onEvent(row.id, event, decider.session);
    return { id: row.id, state: fold.state };
  }

  /** A decision about a run that is running. */
  async function steer(running: LiveRun, request: Request, decider: Decider): Promise<void> {
    const { id, state, session, book, run, writer } = running;
    const { action, note } = request;
    const about = { note, request: request.key };
    if (action === "inject") {
      const bigger = await planDecision(request, { session, book }, state);
      run.decide({ action, tasks: bigger!.tasks.length - state.plan.length }, decider.by, bigger, about);
      await writer.rehead(await needsOf(session, state.plan));
    } else if (action === "abort") run.decide({ action }, decider.by, undefined, about);
    else if (decider.by === "agent" && (action === "approve" || action === "reject")) throw onlyHumans(id);
    else if (action !== "continue" && action !== "status") {
      throw new AgentCardsError("RUN_STATE", `${id} is running; "${action}" is for a run that waits`, {
        hint: "Try again once its status says so.",
      });
    }
  }

  async function goOn({ row, fold }: Resting, { decided, session, book, why, watcher }: Next): Promise<LiveRun> {
    const first = record(fold, [...decided, { kind: "resumed", why }]);
    const { plan: tasks } = fold.state;
    await loadConditions(tasks);
    // Starting them takes as long as all the rest here; a run that will only rest again needs none.
    if (why === "after a restart" || why === "continue") {
      const states = [...fold.state.tasks.values()];
      const isDoubtful = states.some(({ status, effectful }) =>
        status === "in_doubt" || status === "running" && effectful
      );
      const open = tasks.filter(({ id }) => ["waiting", "running"].includes(fold.state.tasks.get(id)!.status));
      const servers = isDoubtful ? [] : serversOf(open);
      for (const server of servers) session.server(server).catalogue().catch(() => {});
    }
    await book.learn(tasks.flatMap((task) => kindOf(task).tools(task)));
    const plan = planAgain(tasks);
    live.requireOpen();
    const writer = await journal.take(row, first, summaryOf(fold.state));
    if (!writer) throw tooLate(row.id);
    for (const event of first) onEvent(row.id, event, session);
    if (decided.some(({ kind }) => kind === "planned")) await writer.rehead(await needsOf(session, tasks));
    const launched = live.launch(row.id, { session, fold, plan, writer, book, written: Promise.resolve() });
    // Before it takes its first step, which may be a question.
    if (watcher) launched.watch(watcher).catch(() => {});
    return launched;
  }

  /** Goes on with a run that a crash interrupted not long ago, where everything is as it was. */
  async function takeUp(row: RunRow, session: Session | undefined, watcher?: Decider): Promise<LiveRun | undefined> {
    if (!session || !isResting(row) || row.quiet > session.config.engine.auto_resume) return undefined;
    if (row.fingerprint !== await fingerprintOf(session, row.servers)) return undefined;
    const fold = await journal.open(row.id);
    const book = createToolBook(session);
    return await goOn({ row, fold }, { decided: [], session, book, why: "after a restart", watcher });
  }

  /** The session that a run goes on in: one of its folder that can start its servers. */
  function carrierOf(row: RunRow, { session, by }: Pick<Decider, "session" | "by">): Session | undefined {
    // A person's command comes and goes: an agent's connection has the servers running already.
    const candidates = by === "human" ? [...sessions] : [session, ...sessions];
    return candidates.find((one) => sessions.has(one) && fits(row, one) && canCarry(one, row));
  }

  return {
    journal,
    start,
    resume,
    attach,
    adopt: (session) =>
      carried(session, async () => {
        const rows = await journal.list({ status: ["running"], cwd: session.cwd });
        await Promise.all(rows.map(({ id }) =>
          adoptOne(id, session).catch((error) =>
            log("warning", "auto_resume_failed", { run: id, reason: messageOf(error) })
          )
        ));
      }),
    take,
    async recover() {
      await journal.recover();
      broken.tryNow();
    },
    observe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    state: (id) => live.get(id)?.state,
    idsOf: live.idsOf,
    running: live.all,
    isRunning: live.isAny,
    count: live.count,
    settled: live.settled,
    released: live.released,
    leave: live.leave,
    async close() {
      broken.close();
      await live.close();
    },
  };
}
