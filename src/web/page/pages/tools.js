import { ask, stream } from "../api.js";
import { SchemaForm } from "../form.js";
import { Questions, useQuestions } from "../questions.js";
import {
  count,
  duration,
  Empty,
  html,
  plain,
  Problem,
  Status,
  to,
  useEffect,
  useLoad,
  useRef,
  useState,
  Value,
  Windowed,
} from "../ui.js";

export default function Tools({ rest }) {
  const id = rest.join("/");
  return id ? html`<${ToolPage} id=${id} />` : html`<${Find} />`;
}

/** Search as an agent does, or the whole list. */
function Find() {
  const [query, setQuery] = useState("");
  const [found, setFound] = useState();
  const [error, setError] = useState();
  const all = useLoad((signal) => ask("tools", {}, signal));
  const turn = useRef(0);
  useEffect(() => {
    const own = ++turn.current;
    if (query.trim() === "") return setFound(undefined);
    const timer = setTimeout(async () => {
      try {
        const began = performance.now();
        const result = await ask("search", { query: query.trim(), limit: 20 });
        if (own === turn.current) setFound({ ...result, ms: performance.now() - began });
        setError(undefined);
      } catch (problem) {
        setError(problem);
      }
    }, 180);
    return () => clearTimeout(timer);
  }, [query]);
  const tools = all.data?.tools ?? [];
  return html`
    <h1>Tools</h1>
        <div class="filters" role="search">
      <div
        class="field grow"><label for="tool-query">Search as an agent does</label><input id="tool-query" type="search" placeholder="send a mail to a colleague" value=${query} onInput=${(
          event,
        ) => setQuery(event.currentTarget.value)} /></div>
    </div>
        <${Problem} error=${error ?? all.error} onRetry=${all.reload} />
        ${found && html`<${Hits} found=${found} />`}
        ${!found && all.data && (tools.length === 0
          ? html`
            <${Empty}
              title="No tools are known yet">Servers are read when they are first used; <a href=${to(
                "servers",
              )}>start one</a> to read it now.<//>
          `
          : html`
            <p class="dim">${count(tools.length)} tools of ${count(
              new Set(tools.map(({ server }) => server)).size,
            )} servers</p>
            <${Windowed} label="Tools" items=${tools} rowHeight=${40} height=${Math.max(300, innerHeight - 260)}
              head=${html`
                <span role="columnheader" class="c-name">Tool</span><span role="columnheader" class="c-status">Effect</span><span
                  role="columnheader" class="c-status">Policy</span><span role="columnheader" class="c-wide">Description</span>
              `}
              row=${(tool, i) =>
                html`
                  <div class="grid-row" role="row" key=${tool.id}
                    aria-rowindex=${i + 2}><span role="cell" class="c-name"><a href=${to("tools", tool.id)}>${plain(
                      tool.id,
                      100,
                    )}</a></span>
                              <span role="cell" class="c-status">${tool
                                .effect}</span><span role="cell" class="c-status"><${Status} of=${tool
                                .policy} /></span><span role="cell" class="c-wide dim">${plain(
                                  tool.description ?? "",
                                  200,
                                )}</span></div>
                `} />
          `)}
        ${(all.data?.notes ?? []).slice(0, 10).map((note) => html`<p class="dim">${plain(note, 400)}</p>`)}
  `;
}

function Hits({ found: { tools, weak, notes, ms } }) {
  const shown = tools.length > 0 ? tools : weak;
  return html`<p class="dim" role="status">${
    tools.length > 0
      ? `${tools.length} tools fit`
      : weak.length > 0
      ? "Nothing fits well; these came nearest"
      : "Nothing fits"
  }, found in ${duration(ms)}</p>
    <ul class="lines hits">${
    shown.map(({ tool, score, parts }) =>
      html`<li key=${tool.id}><div class="hit"><a href=${to("tools", tool.id)}>${plain(tool.id, 120)}</a>
      <span class="score"><meter min="0" max="1" value=${score} aria-label=${`score ${score.toFixed(2)}`}></meter> ${
        score.toFixed(2)
      }</span></div>
      ${
        parts && html`<span class="dim">${
          Object.entries(parts).map(([name, value]) =>
            `${name} ${typeof value === "number" ? value.toFixed(2) : value ?? "–"}`
          ).join(" · ")
        }</span>`
      }
      <p class="dim">${plain(tool.description ?? "", 240)}</p></li>`
    )
  }</ul>
    ${notes.map((note) => html`<p class="dim">${plain(note, 400)}</p>`)}`;
}

/** One tool: what it is, and a form to call it. */
function ToolPage({ id }) {
  const server = id.split(":")[0];
  const { data, error, reload } = useLoad((signal) => ask("tools", server === "workflow" ? {} : { server }, signal), [
    id,
  ]);
  const tool = data?.tools.find((one) => one.id === id);
  const [call, setCall] = useState({});
  const questions = useQuestions();
  const gone = useRef(new AbortController());
  useEffect(() => () => gone.current.abort(), []);
  const send = async (args) => {
    setCall({ isBusy: true });
    const began = performance.now();
    try {
      const answer = await stream("call", { tool: id, arguments: args }, {
        onQuestion: questions.put,
        signal: gone.current.signal,
        onProgress: (progress) => setCall((before) => ({ ...before, progress })),
      });
      setCall({ answer, ms: performance.now() - began });
    } catch (problem) {
      if (!gone.current.signal.aborted) setCall({ error: problem });
    }
  };
  return html`
    <p class="back"><a href=${to("tools")}>All tools</a></p><h1>${plain(id, 160)}</h1><${Problem} error=${error}
      onRetry=${reload} />
        ${data && !tool &&
          html`<${Empty} title="This tool is not known">${
            data.notes.map((note) => html`<p>${plain(note, 400)}</p>`)
          }<//>`}
        ${tool && html`
          <p class="said">${plain(tool.description ?? "It has no description.", 6_000)}</p>
          <dl class="facts">
            <dt>Server</dt>
            <dd><a href=${to("servers", tool.server)}>${plain(tool.server)}</a></dd>
            <dt>Effect</dt>
            <dd>${tool.effect === "read"
              ? "it only reads"
              : tool.effect === "idempotent"
              ? "it changes something; twice is like once"
              : "it acts on the world"}</dd>
            <dt>Policy</dt>
            <dd>
              <${Status} of=${tool.policy} />
            </dd>
          </dl>
          <section aria-labelledby="call"><h2 id="call">Call it</h2>
                  <${SchemaForm} schema=${tool.inputSchema} send="Call" isBusy=${call.isBusy} onSend=${send} />
                  ${call.isBusy && call.progress &&
                    html`<p role="status" class="dim">${
                      plain(call.progress.message ?? `${call.progress.progress ?? ""}`, 200)
                    }</p>`}
                  <${Problem} error=${call.error} />
                  ${call.answer && html`
                    <div role="status">
                      <p><${Status} of=${call.answer.result.isError
                        ? "failed"
                        : "ok"} label=${call.answer.result.isError
                        ? "the tool says it failed"
                        : "done"} /> <span class="dim">in ${duration(call.ms)}</span></p>
                    </div>
                    <${Result} answer=${call.answer} />
                  `}
                </section>
          <details>
            <summary>Its schema</summary>
            <${Value} value=${tool.inputSchema} label="schema" />
          </details>
        `}
        <${Questions} questions=${questions} />
  `;
}

/** A result as text: links, pictures and markup of a server stay inert. */
function Result({ answer: { result, value } }) {
  const content = Array.isArray(result.content) ? result.content : [];
  const texts = content.filter(({ type }) => type === "text").map(({ text }) => text).join("\n");
  const others = content.filter(({ type }) => type !== "text");
  return html`${texts && html`<${Value} value=${texts} label="text" />`}
    ${
    result.structuredContent !== undefined && html`
      <h3>Structured content</h3>
      <${Value} value=${result.structuredContent} label="structured content" />
    `
  }
    ${
    others.length > 0 && html`
      <h3>Other content</h3>
      <ul class="lines">${others.map(({ type, mimeType, data, uri, name }) =>
        html`<li>${plain(type, 40)} <span class="dim">${
          plain(
            [mimeType, name, uri, data && `${count(data.length)} characters of base64`].filter(Boolean).join(", "),
            400,
          )
        }</span></li>`
      )}</ul>
    `
  }
    ${
    !texts && others.length === 0 && result.structuredContent === undefined &&
    html`<${Value} value=${value} label="value" />`
  }`;
}
