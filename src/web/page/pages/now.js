import { ask } from "../api.js";
import { changesList, listen } from "../events.js";
import { titleOf } from "../titles.js";
import {
  Ago,
  bytes,
  count,
  duration,
  Empty,
  html,
  percent,
  plain,
  Problem,
  Status,
  to,
  useEffect,
  useEvery,
  useLoad,
  useState,
} from "../ui.js";

const EVERY_MS = 4_000;

/** What runs, what waits, how the gateway is. */
export default function Now() {
  const { data, error, reload } = useLoad((signal) => ask("now", {}, signal));
  const [, redraw] = useState(0);
  useEvery(EVERY_MS, reload);
  useEvery(1_000, () => data?.runs.some(({ status }) => status === "running") && redraw((n) => n + 1));
  useEffect(() => {
    let timer;
    const soon = () => timer ??= setTimeout(() => (timer = undefined, reload()), 150);
    const stop = listen(({ event, restarted }) => {
      if (restarted || changesList(event)) soon();
    });
    return () => (clearTimeout(timer), stop());
  }, []);
  if (!data) {
    return html`
      <h1>Now</h1>
      <${Problem} error=${error} onRetry=${reload} />
    `;
  }
  const { calls, minutes, runs, recent, servers, waiting } = data;
  const live = runs.filter(({ status }) => status === "running");
  const failing = servers.filter((server) => server.error);
  const perMinute = minutes.slice(-5).reduce((sum, minute) => sum + minute.calls, 0) / 5;
  return html`
    <h1>Now</h1>
        <${Problem} error=${error} onRetry=${reload} />
        ${data.problems.map((problem) =>
          html`
            <div class="problem">
              <p>${plain(problem)}</p>
            </div>
          `
        )}
        ${data.notes.length > 0 && html`
          <div class="note">
            <ul>${data.notes.map((note) =>
              html`<li key=${note}>${plain(note)} <a href=${to("usage")}>Usage</a></li>`
            )}</ul>
          </div>
        `}
        <dl class="figures">
      <${Figure} name="Live runs" value=${count(live.length)} />
      <${Figure} name="Waiting for you" value=${count(waiting)} href=${to("waiting")} tone=${waiting ? "wait" : ""} />
      <${Figure} name="Calls a minute" value=${perMinute < 10
        ? perMinute.toFixed(1)
        : count(Math.round(perMinute))} note="last 5 minutes" />
      <${Figure} name="Calls today" value=${count(calls.total)} note="last 24 hours" />
      <${Figure} name="p95" value=${duration(calls.p95_ms)} note="of a call" />
      <${Figure} name="Failed" value=${percent(calls.failed, calls.total)} note=${`${
        count(calls.failed)
      } calls`} tone=${calls.failed / calls.total > 0.1 ? "bad" : ""} />
      <${Figure} name="Tokens kept out" value=${count(data.tokens_kept ?? 0)} note="of contexts, last 24 hours" />
      ${data.ahead.made > 0 &&
        html`<${Figure} name="Read ahead" value=${count(data.ahead.used)} note=${`of use, of ${
          count(data.ahead.made)
        }`} />`}
    </dl>
        <section aria-labelledby="hour">
      <h2 id="hour">Calls of the last hour</h2>
      <${Hour} minutes=${minutes} />
    </section>
        <div class="columns">
      <section aria-labelledby="live"><h2 id="live">Live and waiting runs</h2>
            ${runs.length === 0
              ? html`
                <${Empty}
                  title="Nothing runs">Runs that an agent starts appear here at once. <a href=${to(
                    "new",
                  )}>Start one yourself</a>.<//>
              `
              : html`<ul class="cards">${runs.map((run) => html`<${RunCard} key=${run.id} run=${run} />`)}</ul>`}
            ${recent.length > 0 && html`
              <h2>Lately</h2>
              <ul class="lines">${recent.map((run) =>
                html`<li key=${run.id}>
          <${Status} of=${run.status} /> <a href=${to("runs", run.id)}>${plain(run.name || run.id, 80)}</a>
          <span class="dim">${count(run.tasks)} ${run.tasks === 1 ? "task" : "tasks"}, ${
                  duration(run.ms)
                }, <${Ago} at=${run.updated} /></span></li>`
              )}</ul>
            `}
          </section>
      <section aria-labelledby="health">
        <h2 id="health">Health</h2>
        <ul class="lines">
              <li><${Status} of=${data.database === "open"
                ? "ok"
                : data.database} label="Database" /> <span class="dim">${data.database}</span></li>
              <li><${Status} of=${failing.length > 0 ? "failed" : "ok"} label="Servers" /> <span class="dim">${count(
                servers.length,
              )} configured, ${count(
                servers.filter(({ state }) => state === "running").length,
              )} running${failing.length > 0 ? `, ${failing.length} with a problem` : ""}</span></li>
              ${failing.slice(0, 5).map(({ name, error }) =>
                html`<li class="under"><a href=${to("servers", name)}>${plain(name)}</a> <span class="dim">${
                  plain(error, 160)
                }</span></li>`
              )}
              <li><${Status} of="ok" label="Engine" /> <span class="dim">version ${plain(data.version)}, process ${data
                .pid}, up ${duration(data.uptime_ms)}, ${bytes(data.rss_bytes)}</span></li>
              <li><${Status} of="ok" label="Connections" /> <span class="dim">${count(data.connections)}</span></li>
            </ul>
      </section>
    </div>
  `;
}

export function Figure({ name, value, note, href, tone = "" }) {
  const shown = html`<span class="figure-value ${tone}">${value}</span>`;
  return html`
    <div class="figure">
      <dt>${name}</dt>
      <dd>${href ? html`<a href=${href}>${shown}</a>` : shown}${note && html`<span class="dim">${note}</span>`}</dd>
    </div>
  `;
}

function RunCard({ run }) {
  const { id, name, status, tasks, succeeded, created, pending } = run;
  const ms = status === "running" ? Math.max(run.ms, 0) : run.ms;
  return html`<li class="card"><div class="card-head"><${Status} of=${status} /><a href=${to("runs", id)}>${
    plain(name || id, 80)
  }</a></div>
    <progress max=${
    Math.max(1, tasks)
  } value=${succeeded} aria-label=${`${succeeded} of ${tasks} tasks done`}></progress>
    <p class="dim">${count(succeeded)} of ${count(tasks)} done, ${duration(ms)}, started <${Ago} at=${created} /></p>
    ${
    status === "paused" &&
    html`<p>${pending?.why ? plain(pending.why, 200) : titleOf(pending?.reason)}. <a href=${
      to("waiting")
    }>Decide</a></p>`
  }</li>`;
}

/** Sixty bars, a minute each, failures on top in another colour and pattern. */
function Hour({ minutes }) {
  const most = Math.max(4, ...minutes.map(({ calls }) => calls));
  const total = minutes.reduce((sum, { calls }) => sum + calls, 0);
  const failed = minutes.reduce((sum, minute) => sum + minute.failed, 0);
  return html`
    <figure class="hour">
      <svg viewBox="0 0 600 80" preserveAspectRatio="none" role="img" aria-label=${`${total} calls in the last hour, ${failed} failed, at most ${most} in a minute`}>
        ${minutes.map(({ calls, failed }, i) => {
          const height = 76 * calls / most;
          const bad = 76 * failed / most;
          return html`<g key=${i}><rect class="bar" x=${i * 10 + 1} width="8" y=${80 - height} height=${height - bad} />
        ${failed > 0 && html`<rect class="bar bad" x=${i * 10 + 1} width="8" y=${80 - bad} height=${bad} />`}</g>`;
        })}
        <line class="axis" x1="0" x2="600" y1="79.5" y2="79.5" /></svg>
      <figcaption class="dim"><span>60 minutes ago</span><span>${total === 0
        ? "no calls in this hour"
        : `at most ${
          count(Math.max(...minutes.map(({ calls }) => calls)))
        } a minute`}</span><span>now</span></figcaption>
    </figure>
  `;
}
