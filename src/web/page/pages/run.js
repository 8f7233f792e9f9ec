import { ask } from "../api.js";
import { follow, listen } from "../events.js";
import { Graph } from "../graph.js";
import { critical, foldNotice, isOpenEnded, spansOf } from "../run_model.js";
import { Timeline } from "../timeline.js";
import {
  Ago,
  bytes,
  clock,
  Confirm,
  count,
  dateTime,
  Dialog,
  duration,
  Empty,
  html,
  plain,
  Problem,
  Status,
  to,
  useEffect,
  useMemo,
  useRef,
  useState,
  Value,
  Windowed,
} from "../ui.js";
import { Undo } from "../undo.js";
import { useDecision } from "../decide.js";
import { Pending } from "../pending.js";

const AGAIN_MS = 150;
const MOST_TRIES = 20;

/** One run, live: its graph, its timeline, its events, and what can be done about it. */
export default function Run({ id, task }) {
  const [run, setRun] = useState();
  const [error, setError] = useState();
  const [view, setView] = useState("graph");
  const latest = useRef();
  const heard = useRef({ id, seq: 0, tries: 0 });
  const [, tick] = useState(0);
  latest.current = run;

  async function load() {
    try {
      const found = await ask("run_page", { id });
      if (heard.current.id !== id) return;
      // Events that came while this was on its way are not in it, and perhaps the last of the run is one of them.
      const isBehind = (found.notices.at(-1)?.seq ?? 0) < heard.current.seq;
      heard.current.tries = isBehind ? heard.current.tries + 1 : 0;
      if (isBehind && heard.current.tries <= MOST_TRIES) setTimeout(load, AGAIN_MS);
      latest.current = found;
      setRun(found);
      setError(undefined);
    } catch (problem) {
      setError(problem);
    }
  }
  useEffect(() => {
    heard.current = { id, seq: 0, tries: 0 };
    let frame;
    const waiting = [];
    const unfollow = follow(id, () => latest.current?.notices.at(-1)?.seq ?? 0);
    void load();
    const take = () => {
      frame = undefined;
      let next = latest.current;
      const some = waiting.splice(0);
      if (!next) return;
      for (const event of some) {
        const last = next.notices.at(-1)?.seq ?? 0;
        if (event.seq <= last) continue;
        // A row that is missing, or tasks that are new: the engine has the whole.
        if (event.seq !== last + 1 || event.kind === "planned" || event.kind === "command") return void load();
        next = foldNotice(next, event);
      }
      latest.current = next;
      setRun(next);
      if (some.some(({ kind }) => kind === "paused" || kind === "finished")) void load();
    };
    const stop = listen(({ event, restarted }) => {
      if (restarted) return void load();
      if (event?.run !== id && event?.run !== latest.current?.id) return;
      heard.current.seq = Math.max(heard.current.seq, event.seq);
      waiting.push(event);
      frame ??= requestAnimationFrame(take);
    });
    const clock = setInterval(() => isOpenEnded(latest.current) && tick((n) => n + 1), 500);
    return () => (unfollow(), stop(), cancelAnimationFrame(frame), clearInterval(clock));
  }, [id]);

  const path = useMemo(() => run ? critical(run) : new Set(), [run]);
  const spans = spansOf(run?.notices ?? [], isOpenEnded(run) ? Date.now() : undefined);
  if (!run) {
    return html`
      <p class="back"><a href=${to("runs")}>All runs</a></p>
      <h1>Run</h1>
      <${Problem} error=${error} onRetry=${load} />
    `;
  }
  const choose = (name) => location.hash = to("runs", run.id, name);
  const ms = isOpenEnded(run) ? spans.length : run.ms;
  const ideal = [...path].reduce((sum, name) => sum + (run.reports.find((one) => one.id === name)?.ms ?? 0), 0);
  return html`
    <p class="back"><a href=${to("runs")}>All runs</a></p>
        <div class="title">
      <h1>${plain(run.name || run.id, 120)}</h1>
      <${Status} of=${run.status} />
    </div>
        <p
      class="dim">${run.name ? `${plain(run.id)}, started` : "started"} <${Ago} at=${run.created} />, ${duration(
        ms,
      )}, ${count(
        run.succeeded,
      )} of ${count(run.tasks)} tasks done${path.size > 1
        ? `, critical path ${duration(ideal)} over ${path.size} tasks`
        : ""}; folder ${plain(run.cwd)}</p>
        <${Problem} error=${error} onRetry=${load} />
        ${run.error && html`
          <div class="problem">
            <p>${plain(run.error, 4_000)}</p>
          </div>
        `}
        <${Actions} run=${run} onDone=${load} />
        ${run.status === "paused" && run.pending && html`
          <section class="card" aria-label="What it waits for">
            <${Pending} run=${run} onDone=${load} />
          </section>
        `}
        <div class="tabs" role="tablist" aria-label="Views">
          ${[["graph", "Graph"], ["timeline", "Timeline"], ["tasks", "Tasks"], ["events", "Events"]].map((
            [name, label],
          ) =>
            html`
              <button type="button" role="tab" id=${`tab-${name}`} aria-selected=${view ===
                name} aria-controls="view" tabindex=${view === name ? 0 : -1}
                onClick=${() => setView(name)} onKeyDown=${turn}>${label}</button>
            `
          )}
        </div>
        <div id="view" role="tabpanel" aria-labelledby=${`tab-${view}`}>
          ${view === "graph" && html`<${Graph} tasks=${run.reports} path=${path} onChoose=${choose} chosen=${task} />`}
          ${view === "timeline" &&
            html`<${Timeline} tasks=${run.reports} spans=${spans} path=${path} onChoose=${choose} />`}
          ${view === "tasks" && html`<${Tasks} tasks=${run.reports} path=${path} run=${run} />`}
          ${view === "events" && html`<${Events} notices=${run.notices} />`}
        </div>
        ${task && html`<${TaskDialog} run=${run} task=${task} onClose=${() => location.hash = to("runs", run.id)} />`}
  `;

  function turn(event) {
    const names = ["graph", "timeline", "tasks", "events"];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = names[(names.indexOf(view) + step + names.length) % names.length];
    setView(next);
    requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
  }
}

function Actions({ run, onDone }) {
  const { decide, isBusy, error, question } = useDecision(onDone);
  const { status } = run;
  const isOver = status !== "running" && status !== "paused";
  const failed = run.reports.filter((one) => one.status === "error" || one.status === "failed_safe");
  const choices = new Set(run.pending?.choices ?? (status === "paused" ? ["continue"] : []));
  return html`<div class="actions">
    ${
    status === "paused" && choices.has("continue") && run.pending?.reason !== "question" &&
    html`<button type="button" class="primary" disabled=${isBusy} onClick=${() =>
      decide({ workflow_id: run.id, action: "continue" })}>Continue</button>`
  }
    ${
    isOver && failed.length > 0 && html`<button type="button" class="primary" disabled=${isBusy} onClick=${() =>
      decide({ workflow_id: run.id, action: "retry" })}>Retry ${
      failed.length === 1 ? `“${plain(failed[0].id, 40)}”` : `${failed.length} failed tasks`
    }</button>`
  }
    ${
    !isOver && html`<${Confirm} label="Abort" sure="Abort this run?" disabled=${isBusy} onDo=${() =>
      decide({ workflow_id: run.id, action: "abort" })} />`
  }
    ${isOver && html`<${Undo} run=${run} />`}
    </div><${Problem} error=${error} />${question}`;
}

function Tasks({ tasks, path, run }) {
  return html`
    <${Windowed} label="Tasks" items=${tasks} rowHeight=${40} height=${Math.max(260, innerHeight - 330)}
      head=${html`
        <span role="columnheader" class="c-status">Status</span><span role="columnheader" class="c-name">Task</span><span
          role="columnheader" class="c-more">Tool</span><span role="columnheader" class="c-num">Tries</span><span
          role="columnheader" class="c-num">Took</span><span role="columnheader" class="c-num">Result</span>
      `}
      row=${(task, i) =>
        html`<div class="grid-row" role="row" key=${task.id} aria-rowindex=${i + 2}>
      <span role="cell" class="c-status"><${Status} of=${task.status} /></span>
      <span role="cell" class="c-name"><a href=${to("runs", run.id, task.id)}>${plain(task.id, 80)}</a>${
          path.has(task.id) && html`
            <span class="tag">critical</span>
          `
        }${
          task.error && html`
            <span class="dim">${plain(task.error, 120)}</span>
          `
        }</span>
      <span role="cell" class="c-more dim">${plain(task.what, 80)}</span>
      <span role="cell" class="c-num">${task.attempt || "–"}</span>
      <span role="cell" class="c-num">${task.began === null ? "–" : duration(task.ms)}</span>
      <span role="cell" class="c-num">${task.bytes ? bytes(task.bytes) : "–"}</span></div>`} />
  `;
}

function Events({ notices }) {
  if (notices.length === 0) return html`<${Empty} title="No events yet" />`;
  return html`
    <${Windowed} label="Events" items=${notices} rowHeight=${34} height=${Math.max(260, innerHeight - 330)}
      head=${html`
        <span role="columnheader" class="c-num">Row</span><span role="columnheader" class="c-when">Time</span><span
          role="columnheader" class="c-status">Event</span><span role="columnheader" class="c-name">Task</span><span
          role="columnheader" class="c-wide">Details</span>
      `}
      row=${(event, i) =>
        html`<div class="grid-row low" role="row" key=${event.seq} aria-rowindex=${i + 2}>
      <span role="cell" class="c-num dim">${event.seq}</span><span role="cell" class="c-when" title=${
          dateTime(event.at)
        }>${clock(event.at)}</span>
      <span role="cell" class="c-status"><${Status} of=${
          event.kind === "finished" ? event.status : event.kind === "done" ? "success" : event.kind
        } label=${event.kind.replaceAll("_", " ")} /></span>
      <span role="cell" class="c-name">${plain(event.task ?? "", 60)}${
          event.attempt > 1
            ? html`
              <span class="dim">try ${event.attempt}</span>
            `
            : ""
        }</span>
      <span role="cell" class="c-wide dim">${
          [event.tool, event.ms !== undefined && duration(event.ms), event.bytes ? bytes(event.bytes) : "", event.text]
            .filter(Boolean).map((part) => plain(part, 300)).join(" · ")
        }</span></div>`} />
  `;
}

function TaskDialog({ run, task, onClose }) {
  const [details, setDetails] = useState();
  const [error, setError] = useState();
  const report = run.reports.find(({ id }) => id === task);
  const { decide, isBusy, error: refused, question } = useDecision(() => {});
  useEffect(() => void ask("run_task", { id: run.id, task }).then(setDetails, setError), [
    run.id,
    task,
    report?.status,
    report?.attempt,
  ]);
  return html`<${Dialog} title=${plain(task, 80)} onClose=${onClose}>
    <${Problem} error=${error ?? refused} />
    ${
    details && html`
      <p><${Status} of=${details.status} /> <span class="dim">${plain(report?.what ?? "")}${report?.began
        ? `, began ${clock(report.began)}, ${duration(report.ms)}`
        : ""}${report?.attempt > 1 ? `, try ${report.attempt}` : ""}</span></p>
      ${details.error && html`
        <div class="problem">
          <p>${plain(details.error, 8_000)}</p>
        </div>
      `}
      ${details.note && html`<p>${plain(details.note, 2_000)}</p>`}
      ${details.status === "in_doubt" && html`
        <div class="card">
          <p>This call may or may not have happened. Find out, then say what became of it.</p>
          <div class="actions">${[["done", "It is done"], ["retry", "Do it again"], ["skip", "Go on without it"]].map((
            [outcome, label],
          ) =>
            html`<${Confirm} label=${label} sure="Sure?" disabled=${isBusy} onDo=${() =>
              decide({ workflow_id: run.id, action: "resolve", task, outcome })} />`
          )}</div>
        </div>
      `}
      ${question}
      <h3>Definition</h3><${Value} value=${details.definition} label="definition" />
      ${details.sent && html`
        <h3>Arguments as they were sent</h3>
        <${Value} value=${details.sent} label="arguments" />
      `}
      ${details.output !== null && html`
        <h3>Result</h3>
        <${Value} value=${details.output} label="result" />
      `}
      <h3>Events</h3><${Value} value=${details.events} label="events" most=${4_000} />
      ${details.is_cut &&
        html`<p class="dim">Long values were cut. agentcards runs show ${plain(run.id)} --full has them whole.</p>`}
    `
  }
  <//>`;
}
