import { record } from "../api.js";
import {
  count,
  dateTime,
  Dialog,
  duration,
  Empty,
  html,
  plain,
  Problem,
  Status,
  useEffect,
  useState,
  Value,
  Windowed,
} from "../ui.js";

/** The chained record of calls. */
export default function Audit() {
  const [filter, setFilter] = useState({ tool: "", outcome: "", text: "" });
  const [rows, setRows] = useState();
  const [hasMore, setMore] = useState(false);
  const [error, setError] = useState();
  const [shown, setShown] = useState();
  const [checked, setChecked] = useState();
  const given = (more) =>
    Object.fromEntries(Object.entries({ ...filter, ...more }).filter(([, value]) => value !== ""));
  const load = (before) =>
    record("audit", given(before === undefined ? {} : { before })).then((found) => {
      setRows((all) => before === undefined ? found.rows : [...all, ...found.rows]);
      setMore(found.has_more);
      setError(undefined);
    }, setError);
  useEffect(() => {
    const timer = setTimeout(() => load(), 200);
    return () => clearTimeout(timer);
  }, [filter]);
  const verify = () => {
    setChecked({ isBusy: true });
    record("audit_verify").then(setChecked, (problem) => (setChecked(undefined), setError(problem)));
  };
  const field = (name, label, type = "search") =>
    html`
      <div
        class="field"><label for=${`audit-${name}`}>${label}</label><input id=${`audit-${name}`} type=${type} value=${filter[
          name
        ]} onInput=${(event) => setFilter({ ...filter, [name]: event.currentTarget.value })} /></div>
    `;
  return html`<h1>Audit</h1>
    <div class="filters" role="search">${field("tool", "Tool, such as github:*")}${field("text", "Text")}
      <div class="field"><label for="audit-outcome">Outcome</label><select id="audit-outcome" value=${filter.outcome} onChange=${(
    event,
  ) => setFilter({ ...filter, outcome: event.currentTarget.value })}>${
    ["", "ok", "failed", "refused", "sent"].map((one) => html`<option value=${one}>${one || "all"}</option>`)
  }</select></div>
      <button type="button" onClick=${verify} disabled=${checked?.isBusy}>${
    checked?.isBusy ? "Checking …" : "Verify"
  }</button></div>
    <${Problem} error=${error} onRetry=${() => load()} />
    ${
    checked && !checked.isBusy &&
    html`<div class=${checked.findings.length === 0 ? "note good" : "problem"} role="status">${
      checked.findings.length === 0
        ? html`<p>${count(checked.rows)} rows, ${
          count(checked.heads)
        } signed heads: nothing was changed, added or removed.${
          checked.unsigned > 0 ? ` The ${count(checked.unsigned)} newest rows are not signed yet.` : ""
        }</p>`
        : html`${
          checked.findings.slice(0, 20).map(({ seq, problem }) => html`<p>Row ${seq} ${plain(problem, 300)}</p>`)
        }`
    }</div>`
  }
    ${rows?.length === 0 && html`<${Empty} title="No row fits">Every call through the gateway gets one.<//>`}
    ${
    rows?.length > 0 && html`
      <${Windowed} label="Audit" items=${rows} rowHeight=${36} height=${Math.max(300, innerHeight - 250)} onEnd=${() =>
        hasMore && (setMore(false), load(rows.at(-1).seq))}
        head=${html`
          <span role="columnheader" class="c-num">Row</span><span role="columnheader" class="c-time">Time</span><span
            role="columnheader" class="c-status">Outcome</span><span role="columnheader" class="c-name">Tool</span><span
            role="columnheader" class="c-more">By</span><span role="columnheader" class="c-num">Took</span><span
            role="columnheader" class="c-more">Note</span>
        `}
        row=${(row, i) =>
          html`
            <div class="grid-row low" role="row" key=${row.seq}
              aria-rowindex=${i +
                2}><span role="cell" class="c-num"><button type="button" class="link-button" aria-label=${`Row ${row.seq}, show it whole`} onClick=${() =>
                setShown(row)}>${row.seq}</button></span>
                    <span role="cell" class="c-time">${dateTime(
                      row.at,
                    )}</span><span role="cell" class="c-status"><${Status} of=${row.outcome ??
                      row.kind} /></span><span role="cell" class="c-name">${plain(
                        row.tool ?? (row.kind === "run" ? "run" : "–"),
                        100,
                      )}</span>
                    <span role="cell" class="c-more">${plain(
                      [row.by, row.client].filter(Boolean).join(", "),
                      80,
                    )}</span><span role="cell" class="c-num">${typeof row.ms === "number"
                      ? duration(row.ms)
                      : "–"}</span><span role="cell" class="c-more dim">${plain(
                        [row.code, row.rule && `rule ${row.rule}`, row.parent].filter(Boolean).join(", "),
                        160,
                      )}</span></div>
          `} />
    `
  }
    ${
    shown && html`
      <${Dialog} title=${`Row ${shown.seq}`} onClose=${() => setShown(undefined)}>
        <${Value} value=${shown} label="row" />
        <//>
    `
  }`;
}
