import type { Session } from "../../call/mod.ts";
import type { Supervisor } from "../../config/mod.ts";
import { isOver, type RunEvent, supervisorCondition } from "../../dag/mod.ts";
import { isObject, type Json, messageOf, nobody, oneLine } from "../../model/mod.ts";
import { unrefTimer } from "../../platform/start.ts";
import { log } from "../../telemetry/mod.ts";
import type { LiveView, Workflows } from "../port.ts";
import { type Ended, runFacts, runsFacts, systemFacts } from "./facts.ts";
import type { ReportBook } from "./reports.ts";

export interface SupervisorOptions {
  readonly workflows: Workflows;
  readonly sessions: ReadonlySet<Session>;
  readonly reports: ReportBook;
  /** Tells a person; `channels`: by the channels of these names only. */
  tell(alert: { subject: string; title: string; text: string; channels?: readonly string[] }): void;
  readonly now?: () => number;
}

/** The thing that a supervisor looks at, with the session and the runs that belong to it. */
interface Subject {
  readonly id: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly session: Session;
  readonly runs: readonly LiveView[];
}

const TICK_MS = 100;
const EVERY_MS = 30_000;
const MOST_ENDED = 10_000;
const NAME = "supervisor ";
const ANSWER = {
  type: "object",
  properties: { report: { type: "string" }, act: { enum: ["none", "pause", "abort", "alert"] } },
  required: ["report", "act"],
};

/** Looks at runs, folders and the engine as the configuration says. Nothing runs where it has no supervisors. */
export function createSupervisors({ workflows, sessions, reports, tell, now = Date.now }: SupervisorOptions) {
  const ended: Ended[] = [];
  const last = new Map<string, number>();
  /** Subjects of which a condition holds: it is reported once, until it has been false in between. */
  const held = new Set<string>();
  /** Runs that supervisors started, of which they see nothing. */
  const own = new Set<string>();
  const failing = new Set<string>();

  const all = () =>
    [...sessions].filter(({ isUsable }) => isUsable).flatMap(({ config }) => config.supervisors)
      .filter((one, i, list) => list.findIndex(({ name }) => name === one.name) === i);
  const live = () => workflows.running().filter(({ id }) => !own.has(id));

  function subjectsOf(scope: Supervisor["scope"]): Subject[] {
    const runs = live();
    if (scope === "run") return runs.map(subjectOf);
    if (scope === "system") {
      const [session] = sessions;
      const facts = { ...runsFacts(runs, ended, now()), ...systemFacts() };
      return session ? [{ id: "engine", facts, session, runs }] : [];
    }
    const folders = Map.groupBy([...sessions], ({ cwd }) => cwd);
    return [...folders].map(([folder, [session]]) => {
      const here = runs.filter((run) => run.session.cwd === folder);
      const facts = { folder, ...runsFacts(here, ended.filter((one) => one.folder === folder), now()) };
      return { id: folder, facts, session: session!, runs: here };
    });
  }

  function subjectOf(run: LiveView): Subject {
    const { id, state, session } = run;
    return { id, facts: runFacts(id, state, session.cwd, now()), session, runs: [run] };
  }

  async function look(supervisor: Supervisor, subjects: readonly Subject[]): Promise<void> {
    const { name, scope, when } = supervisor;
    const condition = await supervisorCondition(when, scope);
    for (const subject of subjects) {
      const key = `${name} ${subject.id}`;
      if (!condition(subject.facts)) held.delete(key);
      else if (!held.has(key)) {
        held.add(key);
        await act(supervisor, subject);
      }
    }
    failing.delete(name);
  }

  async function act(supervisor: Supervisor, subject: Subject): Promise<void> {
    const { name, scope, when, say, then = ["report"], use = "rule", channels } = supervisor;
    const judged = use === "rule" ? undefined : await judge(use, supervisor, subject);
    const wanted = judged ? then.filter((one) => one === "report" || one === judged.act) : then;
    const text = judged?.report ?? say ?? `${when}: ${oneLine(JSON.stringify(subject.facts), 500)}`;
    const why = `${NAME}${name}: ${oneLine(text, 300)}`;
    for (const { run, state } of subject.runs) {
      if (isOver(state)) continue;
      if (wanted.includes("abort")) run.decide({ action: "abort" }, "agent", undefined, { note: why });
      else if (wanted.includes("pause")) run.hold(why);
    }
    if (wanted.includes("alert")) {
      tell({ subject: `${NAME}${name} ${subject.id}`, title: `Supervisor ${name}`, text, ...channels && { channels } });
    }
    reports.add({ at: now(), supervisor: name, scope, subject: subject.id, text, done: wanted });
  }

  /** Has an agent judge what a condition found, in a run of its own. */
  async function judge(agent: string, { name, when }: Supervisor, { facts, session, id }: Subject) {
    const prompt =
      `You supervise workflows. The condition ${when} holds for ${id}. Judge whether something has to be ` +
      `done. Change nothing yourself.\n\nThe facts:\n${JSON.stringify(facts, null, 1)}`;
    const task = { id: "judge", type: "agent", agent, prompt, schema: ANSWER, budget: { minutes: 5 } };
    const decider = {
      session,
      caller: nobody(new AbortController().signal),
      by: "agent" as const,
      onStart: (view: { readonly id: string }) => void own.add(view.id),
    };
    try {
      const request = { tasks: [task], options: { snapshot: false }, name: `${NAME}${name}` };
      const { state } = await workflows.start(request, decider);
      const { output, error } = state.tasks.get("judge") ?? {};
      const value: Json | undefined = output?.kind === "value" ? output.value : undefined;
      if (isObject(value)) return { report: String(value.report), act: String(value.act) };
      return { report: `${agent} could not judge it: ${error ?? state.pending?.why ?? state.status}`, act: "alert" };
    } catch (error) {
      return { report: `${agent} could not judge it: ${messageOf(error)}`, act: "alert" };
    }
  }

  async function guarded(supervisor: Supervisor, subjects: readonly Subject[]): Promise<void> {
    await look(supervisor, subjects).catch((error) => {
      // Once, and not with each look.
      if (failing.has(supervisor.name)) return;
      failing.add(supervisor.name);
      log("error", "supervisor_failed", { supervisor: supervisor.name, reason: messageOf(error) });
    });
  }

  const timer = setInterval(() => {
    const at = now();
    for (const supervisor of all()) {
      const due = (last.get(supervisor.name) ?? 0) + (supervisor.every ?? EVERY_MS);
      if (at < due) continue;
      last.set(supervisor.name, at);
      void guarded(supervisor, subjectsOf(supervisor.scope));
    }
  }, TICK_MS);
  unrefTimer(timer as unknown as number);

  const forget = workflows.observe((id: string, event: RunEvent) => {
    if (event.kind !== "finished" || own.delete(id)) return;
    const run = workflows.running().find((one) => one.id === id);
    if (!run) return;
    ended.push({ at: now(), folder: run.session.cwd, status: event.status });
    ended.splice(0, ended.length - MOST_ENDED);
    const supervisors = all().filter(({ scope }) => scope === "run");
    for (const supervisor of supervisors) {
      void guarded(supervisor, [subjectOf(run)]).finally(() => held.delete(`${supervisor.name} ${id}`));
    }
  });

  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      forget();
    },
  };
}
