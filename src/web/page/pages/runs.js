import { ask } from "../api.js";
import { changesList, listen } from "../events.js";
import {
  Ago,
  count,
  duration,
  Empty,
  html,
  plain,
  Problem,
  Status,
  to,
  useEffect,
  useRef,
  useState,
  Windowed,
} from "../ui.js";
import Run from "./run.js";

const PAGE = 100;
const STATUSES = [
  ["", "all"],
  ["running", "running"],
  ["paused", "paused"],
  ["completed", "completed"],
  ["partial", "partial"],
  ["failed", "failed"],
  ["aborted", "aborted"],
];

export default function Runs({ rest: [id, task] }) {
  return id ? html`<${Run} id=${id} task=${task} />` : html`<${List} />`;
}

/** The runs, a page at a time, the newest first. */
function List() {
  const [status, setStatus] = useState("");
  const [text, setText] = useState("");
  const [state, setState] = useState({ runs: [], isWhole: false, isLoaded: false });
  const [error, setError] = useState();
  const isBusy = useRef(false);
  const newest = useRef();
  newest.current = { status, text, state };

  async function load(isMore) {
    if (isBusy.current && isMore) return;
    isBusy.current = true;
    const { status, text, state } = newest.current;
    const asked = `${status} ${text}`;
    try {
      const before = isMore ? state.runs.at(-1)?.created : undefined;
      const limit = isMore ? PAGE : Math.max(PAGE, Math.min(1_000, state.runs.length));
      const found = await ask("runs", {
        limit,
        ...(status && { status: [status] }),
        ...(text.trim() && { text: text.trim() }),
        ...(before !== undefined && { before }),
      });
      if (`${newest.current.status} ${newest.current.text}` !== asked) return;
      const seen = new Set(isMore ? state.runs.map(({ id }) => id) : []);
      const runs = [...(isMore ? state.runs : []), ...found.filter(({ id }) => !seen.has(id))];
      setState({ runs, isWhole: found.length < limit, isLoaded: true });
      setError(undefined);
    } catch (problem) {
      setError(problem);
    } finally {
      isBusy.current = false;
    }
  }
  useEffect(() => {
    const timer = setTimeout(() => load(false), text ? 200 : 0);
    return () => clearTimeout(timer);
  }, [status, text]);
  useEffect(() => {
    let timer;
    const stop = listen(({ event, restarted }) => {
      if (!restarted && !changesList(event)) return;
      timer ??= setTimeout(() => (timer = undefined, load(false)), 300);
    });
    return () => (clearTimeout(timer), stop());
  }, []);

  const { runs, isWhole, isLoaded } = state;
  return html`
    <h1>Runs</h1>
        <div class="filters" role="search">
      <div
        class="field"><label for="run-status">Status</label><select id="run-status" value=${status} onChange=${(
          event,
        ) => setStatus(event.currentTarget.value)}>
            ${STATUSES.map(([value, label]) => html`<option value=${value}>${label}</option>`)}</select></div>
      <div
        class="field grow"><label for="run-text">Name or id</label><input id="run-text" type="search" value=${text} onInput=${(
          event,
        ) => setText(event.currentTarget.value)} /></div>
      <a class="button primary" href=${to("new")}>New run</a>
    </div>
        <${Problem} error=${error} onRetry=${() => load(false)} />
        ${isLoaded && runs.length === 0 && html`<${Empty} title=${status || text ? "No run fits" : "No runs yet"}>
      ${
          status || text
            ? html`Choose another status or another text.`
            : html`Agents start runs with <code>run_workflow</code>. <a href=${to("new")}>Start one yourself</a>.`
        }<//>`}
        ${runs.length > 0 && html`
          <${Windowed} label="Runs" items=${runs} rowHeight=${44} height=${Math.max(
            300,
            innerHeight - 240,
          )} onEnd=${() => isWhole || load(true)}
            head=${html`
              <span role="columnheader" class="c-status">Status</span><span role="columnheader" class="c-name">Run</span><span
                role="columnheader" class="c-num">Tasks</span><span role="columnheader" class="c-num">Took</span><span
                role="columnheader" class="c-when">Started</span><span role="columnheader" class="c-more">Folder</span>
            `}
            row=${(run, i) =>
              html`<div class="grid-row" role="row" key=${run.id} aria-rowindex=${i + 2}>
        <span role="cell" class="c-status"><${Status} of=${run.status} /></span>
        <span role="cell" class="c-name"><a href=${to("runs", run.id)}>${plain(run.name || run.id, 120)}</a></span>
        <span role="cell" class="c-num">${count(run.succeeded)}/${count(run.tasks)}</span>
        <span role="cell" class="c-num">${duration(run.ms)}</span>
        <span role="cell" class="c-when"><${Ago} at=${run.created} /></span>
        <span role="cell" class="c-more dim" title=${plain(run.cwd)}>${
                plain(run.cwd.split("/").at(-1), 60)
              }</span></div>`} />
          <p class="dim">${count(runs.length)} ${isWhole
            ? (runs.length === 1 ? "run" : "runs")
            : "runs so far; more come as you scroll"}</p>
        `}
  `;
}
