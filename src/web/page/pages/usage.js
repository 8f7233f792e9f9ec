import { ask } from "../api.js";
import {
  count,
  duration,
  Empty,
  html,
  library,
  percent,
  plain,
  Problem,
  to,
  useEffect,
  useLoad,
  useRef,
  useState,
} from "../ui.js";
import { Figure } from "./now.js";

const DAY_MS = 86_400_000;
const RANGES = [["1", "a day"], ["7", "7 days"], ["30", "30 days"], ["365", "a year"]];
const GROUPS = [["tools", "Tool"], ["servers", "Server"], ["clients", "Client"], ["makers", "Made by"]];

/** Calls, failures, times and tokens by tool, server and client. */
export default function Usage() {
  const [days, setDays] = useState("1");
  const [group, setGroup] = useState("tools");
  const { data, error, reload } = useLoad(
    (signal) => ask("stats", { since: Date.now() - Number(days) * DAY_MS, overlaps: true }, signal),
    [days],
  );
  const { total, series = [], trends = [], misfits = [], overlaps = [], context } = data ?? {};
  const rows = data?.[group] ?? [];
  const most = Math.max(1, ...rows.map(({ calls }) => calls));
  return html`
    <h1>Usage</h1>
        <div class="filters">
      <div class="field"><label for="range">Since</label><select id="range" value=${days} onChange=${(
        event,
      ) => setDays(event.currentTarget.value)}>
          ${RANGES.map(([value, label]) => html`<option value=${value}>${label}</option>`)}</select></div>
      <div class="field"><label for="group">By</label><select id="group" value=${group} onChange=${(event) =>
        setGroup(event.currentTarget.value)}>
          ${GROUPS.map(([value, label]) => html`<option value=${value}>${label.toLowerCase()}</option>`)}</select></div>
    </div>
        <${Problem} error=${error} onRetry=${reload} />
        ${total?.calls === 0 &&
          html`<${Empty} title="No calls in that time">Choose a longer time, or <a href=${
            to("tools")
          }>call a tool</a>.<//>`}
        ${total?.calls > 0 && html`
          <dl class="figures">
                  <${Figure} name="Calls" value=${count(total.calls)} />
                  <${Figure} name="Failed" value=${percent(total.failed, total.calls)} note=${`${
                    count(total.failed)
                  } calls`} />
                  <${Figure} name="p50" value=${duration(total.p50_ms)} /><${Figure} name="p95" value=${duration(
                    total.p95_ms,
                  )} />
                  <${Figure} name="Tokens kept out" value=${count(
                    total.tokens_kept,
                  )} note="of results, out of contexts" />
                  ${context &&
                    html`<${Figure} name="Lists of tools" value=${
                      count(context.own_tokens)
                    } note=${`tokens instead of ${count(context.direct_tokens)}`} />`}
                </dl>
                ${trends.map(({ tool, why }) =>
                  html`
                    <div class="note wait">
                      <p><a href=${to("tools", tool)}>${plain(tool, 80)}</a>: ${plain(why, 300)}</p>
                    </div>
                  `
                )}
                ${misfits.map(({ tool, misfits, problem }) =>
                  html`
                    <div class="note wait">
                      <p><a href=${to("tools", tool)}>${plain(tool, 80)}</a>: ${count(misfits)} ${misfits === 1
                        ? "result does"
                        : "results do"} not fit its own schema: ${plain(problem, 300)}</p>
                    </div>
                  `
                )}
                ${overlaps.map(({ tools, advice }) =>
                  html`
                    <div class="note">
                      <p><b>${plain(tools.join(" and "), 200)}</b>: ${plain(advice, 300)}</p>
                    </div>
                  `
                )}
                ${series.length > 1 && html`
                  <section aria-labelledby="series">
                    <h2 id="series">Calls over time</h2>
                    <${Series} points=${series} />
                  </section>
                `}
                <h2>By ${GROUPS.find(([name]) => name === group)[1].toLowerCase()}</h2>
                <div class="scroll" tabindex="0" role="region" aria-label="Table of figures">
            <table>
              <thead>
                <tr>
                  <th>${GROUPS.find(([name]) => name === group)[1]}</th>
                  <th class="num">Calls</th>
                  <th class="num">Failed</th>
                  <th class="num">p50</th>
                  <th class="num">p95</th>
                  <th class="num">Tokens in</th>
                  <th class="num">Tokens out</th>
                  <th class="num">Kept out</th>
                </tr>
              </thead>
              <tbody>
                ${rows.slice(0, 200).map((row) =>
                  html`
                    <tr key=${row.name}>
                      <td>${group === "tools"
                        ? html`<a href=${to("tools", row.name)}>${plain(row.name, 100)}</a>`
                        : group === "servers"
                        ? html`<a href=${to("servers", row.name)}>${plain(row.name, 80)}</a>`
                        : plain(row.name || "(none)", 80)}</td>
                      <td class="num">${count(row.calls)} <meter min="0" max=${most} value=${row
                        .calls} aria-label=${`${row.calls} of at most ${most}`}></meter></td>
                      <td class="num">${percent(row.failed, row.calls)}</td>
                      <td class="num">${duration(row.p50_ms)}</td>
                      <td class="num">${duration(row.p95_ms)}</td>
                      <td class="num">${count(row.tokens_in)}</td>
                      <td class="num">${count(row.tokens_out)}</td>
                      <td class="num">${count(row.tokens_kept)}</td>
                    </tr>
                  `
                )}</tbody>
            </table>
          </div>
                ${rows.length > 200 &&
                  html`<p class="dim">${count(rows.length - 200)} more: agentcards stats --json has all.</p>`}
        `}
  `;
}

/** Calls and failures over time. */
function Series({ points }) {
  const box = useRef(null);
  useEffect(() => {
    let plot;
    let isGone = false;
    const draw = async () => {
      await Promise.all([library("uplot.js"), library("uplot.css")]);
      if (isGone) return;
      const style = getComputedStyle(document.documentElement);
      const colour = (name) => style.getPropertyValue(name).trim();
      const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") } };
      plot = new globalThis.uPlot(
        {
          width: box.current.clientWidth,
          height: 200,
          legend: { show: false },
          cursor: { show: false },
          scales: { y: { range: (_plot, _least, most) => [0, Math.max(4, most * 1.1)] } },
          axes: [axis, { ...axis, size: 56 }],
          series: [
            {},
            {
              label: "calls",
              stroke: colour("--accent"),
              fill: colour("--accent-soft"),
              width: 2,
              points: { show: points.length < 40 },
            },
            { label: "failed", stroke: colour("--bad"), width: 2, dash: [4, 3] },
          ],
        },
        [points.map(({ at }) => at / 1_000), points.map(({ calls }) => calls), points.map(({ failed }) => failed)],
        box.current,
      );
    };
    draw().catch(() => {});
    const watcher = new ResizeObserver(() => plot?.setSize({ width: box.current.clientWidth, height: 200 }));
    watcher.observe(box.current);
    return () => (isGone = true, watcher.disconnect(), plot?.destroy());
  }, [points.length, points.at(-1)?.calls]);
  const total = points.reduce((sum, { calls }) => sum + calls, 0);
  return html`<div class="chart" ref=${box} role="img" aria-label=${`${total} calls in ${points.length} points of time; failures are the dashed line`}></div>`;
}
