// A run as bars on one axis, in the order in which tasks began.
import { duration, html, plain, Status, useMemo, Windowed } from "./ui.js";

const TICKS = 4;

export function Timeline({ tasks, spans: { length, spans }, path, onChoose }) {
  const order = useMemo(() => {
    const began = ({ id }) => spans.get(id)?.[0]?.from ?? Infinity;
    const place = new Map(tasks.map(({ id }, i) => [id, i]));
    return tasks.toSorted((a, b) => began(a) - began(b) || place.get(a.id) - place.get(b.id));
  }, [tasks, spans]);
  const share = (ms) => `${Math.min(100, 100 * ms / length).toFixed(3)}%`;
  return html`
    <${Windowed} label="Timeline" items=${order} rowHeight=${30} height=${Math.max(260, innerHeight - 330)}
      head=${html`
        <span role="columnheader" class="t-name">Task</span><span role="columnheader"
          class="t-axis"><span class="visually-hidden">Time</span>${Array.from(
            { length: TICKS + 1 },
            (_, i) =>
              html`<span class="tick" aria-hidden="true" style=${{ left: `${100 * i / TICKS}%` }}>${
                duration(length * i / TICKS)
              }</span>`,
          )}</span><span role="columnheader"
          class="c-num">Took</span>
      `}
      row=${(task, i) =>
        html`<div class="grid-row low" role="row" key=${task.id} aria-rowindex=${i + 2}>
      <span role="cell" class="t-name"><button type="button" class="link-button" onClick=${() =>
          onChoose(task.id)} title=${plain(task.what, 100)}>${plain(task.id, 60)}</button>${
          path.has(task.id) && html`
            <span class="tag">critical</span>
          `
        }</span>
      <span role="cell" class="t-axis">${
          (spans.get(task.id) ?? []).map(({ from, to, kind }) =>
            html`<i class=${`span ${kind} ${path.has(task.id) ? "critical" : ""}`} style=${{
              left: share(from),
              width: `max(3px, ${share(to - from)})`,
            }} title=${duration(to - from)}></i>`
          )
        }
        ${!spans.has(task.id) && html`<${Status} of=${task.status} />`}</span>
      <span role="cell" class="c-num">${
          task.status === "running" ? html`<${Status} of="running" />` : task.began === null ? "–" : duration(task.ms)
        }</span></div>`} />
  `;
}
