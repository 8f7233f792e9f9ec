// A run as data: its state out of events, the time of each task, the path that decided how long it took.

/** True while time goes on for a run. */
export function isOpenEnded(run) {
  return run?.status === "running";
}

/** The run after one more event. */
export function foldNotice(run, event) {
  const notices = [...run.notices, event];
  const change = (id, fields) => {
    const at = run.reports.findIndex((task) => task.id === id);
    if (at < 0) return run.reports;
    const reports = run.reports.slice();
    reports[at] = { ...reports[at], ...fields };
    return reports;
  };
  switch (event.kind) {
    case "started":
      return {
        ...run,
        notices,
        status: "running",
        reports: change(event.task, { status: "running", attempt: event.attempt, began: event.at, error: null }),
      };
    case "done": {
      const reports = change(event.task, { status: "success", ms: event.ms, bytes: event.bytes ?? 0, error: null });
      return { ...run, notices, reports, succeeded: reports.filter(({ status }) => status === "success").length };
    }
    case "failed":
      return {
        ...run,
        notices,
        reports: change(event.task, {
          status: event.status === "again" ? "waiting" : event.status,
          ms: event.ms,
          error: event.text ?? "",
        }),
      };
    case "skipped":
      return { ...run, notices, reports: change(event.task, { status: "skipped", error: event.text ?? null }) };
    case "in_doubt":
      return { ...run, notices, reports: change(event.task, { status: "in_doubt", error: event.text ?? null }) };
    case "paused":
      return { ...run, notices, status: "paused" };
    case "resumed":
      return { ...run, notices, status: "running", pending: null };
    case "finished":
      return { ...run, notices, status: event.status, error: event.text ?? run.error };
    default:
      return { ...run, notices };
  }
}

/** When each task was under way, on a clock that stands still while the run rests. */
export function spansOf(notices, now) {
  const spans = new Map();
  const open = new Map();
  const began = notices[0]?.at ?? 0;
  let rested = 0;
  let restsSince;
  let lastAt = began;
  const clock = (at) => Math.max(0, (restsSince ?? at) - began - rested);
  const close = (task, kind, at) => {
    if (!open.has(task)) return;
    const list = spans.get(task) ?? [];
    const from = open.get(task);
    list.push({ from, to: Math.max(from, clock(at)), kind });
    spans.set(task, list);
    open.delete(task);
  };
  for (const { kind, task, at } of notices) {
    if (kind === "started") open.set(task, clock(at));
    else if (kind === "done") close(task, "done", at);
    else if (kind === "failed" || kind === "skipped" || kind === "in_doubt") close(task, "failed", at);
    else if (kind === "paused" || kind === "finished") restsSince = at;
    else if (kind === "resumed") {
      const since = restsSince ?? lastAt;
      for (const one of [...open.keys()]) close(one, "failed", since);
      rested += Math.max(0, at - since);
      restsSince = undefined;
    }
    if (kind !== "command") lastAt = at;
  }
  const end = now !== undefined && restsSince === undefined ? now : lastAt;
  for (const task of [...open.keys()]) close(task, "running", end);
  return { length: Math.max(1, clock(end)), spans };
}

const ENDS = new Set(["done", "failed", "in_doubt"]);

/** The tasks that decided how long the run took: back from the one that ended last, always to the need that ended last. */
export function critical({ reports, notices = [] }) {
  const byId = new Map(reports.map((task) => [task.id, task]));
  // The time of a task counts from before its server was started: the row of its end says when that really was.
  const ended = new Map(notices.filter(({ kind }) => ENDS.has(kind)).map(({ task, at }) => [task, at]));
  const endOf = (task) => task.began === null ? -1 : ended.get(task.id) ?? task.began + task.ms;
  let at = reports.reduce((best, task) => endOf(task) > (best ? endOf(best) : -1) ? task : best, undefined);
  const path = new Set();
  while (at && !path.has(at.id)) {
    path.add(at.id);
    at = at.depends_on.map((id) => byId.get(id)).filter((task) => task && task.began !== null)
      .reduce((best, task) => !best || endOf(task) > endOf(best) ? task : best, undefined);
  }
  return path;
}
