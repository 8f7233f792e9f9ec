import { ask, record, stream } from "../api.js";
import {
  Ago,
  clock,
  count,
  duration,
  Empty,
  html,
  plain,
  Problem,
  Status,
  to,
  useEvery,
  useLoad,
  useState,
} from "../ui.js";

export default function Servers({ rest: [name] }) {
  const { data, error, reload } = useLoad((signal) => ask("status", {}, signal));
  useEvery(8_000, reload);
  const servers = data?.servers ?? [];
  const server = servers.find((one) => one.name === name);
  if (name && data) return html`<${Server} name=${name} server=${server} onChange=${reload} error=${error} />`;
  return html`<h1>Servers</h1><${Problem} error=${error} onRetry=${reload} />
    ${
    data?.config_problem && html`
      <div class="problem">
        <p>${plain(data.config_problem, 4_000)}</p>
      </div>
    `
  }
    ${
    data && servers.length === 0 && !data.config_problem && html`
      <${Empty}
        title="No servers are configured"><code>agentcards init</code> brings those of your clients over; <code>agentcards add NAME -- COMMAND</code> adds one.<//>
    `
  }
    ${
    servers.length > 0 && html`
      <div class="scroll" tabindex="0" role="region" aria-label="Table of servers">
        <table>
          <thead>
            <tr>
              <th>Server</th>
              <th>State</th>
              <th class="num">Tools</th>
              <th class="num">Running</th>
              <th class="num">Start</th>
              <th>Seen</th>
              <th>Problem</th>
            </tr>
          </thead>
          <tbody>
            ${servers.map((one) =>
              html`
                <tr key=${one.name}>
                  <td><a href=${to("servers", one.name)}>${plain(one.name, 64)}</a></td>
                  <td>
                    <${Status} of=${one.error
                      ? "failed"
                      : one.state === "running"
                      ? "ok"
                      : one.state} label=${one.needs_sign_in ? "sign-in needed" : one.state} />
                  </td>
                  <td class="num">${one.tools === null ? "–" : count(one.tools)}</td>
                  <td class="num">${one.running}</td>
                  <td class="num">${one.start_ms === null ? "–" : duration(one.start_ms)}</td>
                  <td>${one.seen_at ? html`<${Ago} at=${one.seen_at} />` : "never"}</td>
                  <td class="dim">${plain(one.error ?? "", 140)}</td>
                </tr>
              `
            )}
          </tbody>
        </table>
      </div>
    `
  }`;
}

function Server({ name, server, onChange, error }) {
  const [work, setWork] = useState({});
  const tools = useLoad((signal) => ask("tools", { server: name }, signal), [name]);
  const log = useLoad((signal) => record("log", { server: name }, signal), [name]);
  const start = async () => {
    setWork({ isBusy: true });
    try {
      const [report] = await stream("index", { servers: [name] });
      setWork(
        report.ok
          ? { done: `It started in ${duration(report.ms)} and has ${count(report.tools)} tools.` }
          : { error: { message: report.error } },
      );
    } catch (problem) {
      setWork({ error: problem });
    }
    onChange();
    tools.reload();
    log.reload();
  };
  const stop = async () => {
    setWork({ isBusy: true });
    await ask("restart", { server: name }).then(
      ({ stopped }) =>
        setWork({ done: stopped === 0 ? "It was not running." : "It was stopped; the next call starts it." }),
      (problem) => setWork({ error: problem }),
    );
    onChange();
    log.reload();
  };
  return html`<p class="back"><a href=${to("servers")}>All servers</a></p>
    <div class="title"><h1>${plain(name, 64)}</h1>${
    server &&
    html`<${Status} of=${
      server.error ? "failed" : server.state === "running" ? "ok" : server.state
    } label=${server.state} />`
  }</div>
    <${Problem} error=${error} />
    ${
    !server ? html`<${Empty} title="There is no such server in the configuration" />` : html`
      ${server.error && html`
        <div class="problem">
          <p>${plain(server.error, 2_000)}</p>
        </div>
      `}
      <dl class="facts"><dt>Kind</dt><dd>${server.kind === "http"
        ? "remote, over HTTP"
        : "a program on this machine"}</dd><dt>Configured</dt><dd>${server.origin === "global"
        ? "in the home"
        : "by the project"}</dd>
        <dt>For</dt><dd>${server.clients ? plain(server.clients.join(", ")) : "all clients"}</dd>${server.cwd && html`
          <dt>Folder</dt>
          <dd>${plain(server.cwd, 300)}</dd>
        `}
        ${server.flood && html`
          <dt>Dropped frames</dt>
          <dd>${plain(JSON.stringify(server.flood))}</dd>
        `}</dl>
      <div
        class="actions"><button type="button" class="primary" disabled=${work.isBusy} onClick=${start}>${work.isBusy
          ? "Working …"
          : "Start and read its tools"}</button><button type="button" disabled=${work
          .isBusy} onClick=${stop}>Stop</button></div>
      ${server.needs_sign_in &&
        html`<p>It waits for a sign-in: run <code>agentcards login ${plain(name)}</code> at a terminal.</p>`}
      ${work.done && html`<p role="status">${work.done}</p>`}<${Problem} error=${work.error} />
      <section aria-labelledby="offers"><h2 id="offers">Tools</h2><${Problem} error=${tools.error} />
        ${tools.data && tools.data.tools.length === 0 &&
          html`<${Empty} title="No tools are known yet">Start it once to read them.<//>`}
        <ul class="lines">${(tools.data?.tools ?? []).slice(0, 300).map((tool) =>
          html`<li key=${tool.id}><a href=${to("tools", tool.id)}>${plain(tool.name, 100)}</a> <span class="dim">${
            plain(tool.description ?? "", 160)
          }</span></li>`
        )}</ul></section>
      <section aria-labelledby="log">
        <h2 id="log">Log</h2>
        <${Log} lines=${log.data} />
      </section>
    `
  }`;
}

function Log({ lines }) {
  if (!lines) return null;
  if (lines.length === 0) return html`<${Empty} title="The log of these days says nothing about it" />`;
  return html`<pre class="log" tabindex="0" role="region" aria-label="Log">${
    lines.slice(-200).map(({ at, level, event, fields }) =>
      `${clock(at)} ${level.padEnd(7)} ${plain(event, 200)} ${
        plain(
          Object.entries(fields).map(([key, value]) =>
            `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`
          ).join(" "),
          1_000,
        )
      }`
    ).join("\n")
  }</pre>`;
}
