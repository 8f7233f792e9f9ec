import { ask } from "../api.js";
import { Empty, html, plain, Problem, Status, to, useLoad } from "../ui.js";
import { Answers, Replayed, Rules } from "./policy_rules.js";

/** A longer list is opened by whoever wants to see it. */
const MOST_OPEN = 20;

/** What policy says about every tool, and what else holds. */
export default function Policy() {
  const status = useLoad((signal) => ask("status", {}, signal));
  const tools = useLoad((signal) => ask("tools", {}, signal));
  const policy = useLoad((signal) => ask("policy", {}, signal));
  const all = tools.data?.tools ?? [];
  const special = all.filter(({ policy }) => policy !== "allow");
  const acting = all.filter(({ effect }) => effect !== "read");
  const data = status.data;
  return html`
    <h1>Policy</h1><${Problem} error=${status.error ??
      tools.error ?? policy.error} onRetry=${() => (status.reload(), tools.reload(), policy.reload())} />
        ${data && html`
          <dl class="facts">
            <dt>Folder</dt>
            <dd>${data.folder
              ? html`${plain(data.folder.path, 300)} <span class="dim">${
                data.folder.trusted_by
                  ? `trusted by ${plain(data.folder.trusted_by)}`
                  : "not trusted: no server starts in it"
              }</span>`
              : "none"}</dd>
            <dt>Personal data</dt>
            <dd>${data.pii === "tokenize" ? "agents see tokens instead" : "not hidden"}</dd>
            <dt>Sandbox</dt>
            <dd>level ${data.sandbox.level} <span class="dim">${plain(data.sandbox.why, 200)}</span></dd>
            <dt>Secrets</dt>
            <dd>${data.secrets.names.length === 0
              ? "none are configured"
              : plain(data.secrets.names.map(({ name }) => name).join(", "), 600)}</dd>
          </dl>
        `}
        ${policy.data && html`
          <section aria-labelledby="rules">
            <h2 id="rules">Rules</h2>
            <${Rules} data=${policy.data} />
          </section>
          <div class="columns">
            <section aria-labelledby="replay">
              <h2 id="replay">Replay</h2>
              <p class="dim">Judges calls that were made by the rules that hold now. Nothing is called.</p>
              <${Replayed} />
            </section>
            <section aria-labelledby="answers">
              <h2 id="answers">Suggestions</h2>
              <${Answers} />
            </section>
          </div>
        `}
        <section aria-labelledby="special"><h2 id="special">Tools that a rule speaks about</h2>
          ${tools.data && special.length === 0 && html`
            <${Empty}
              title="No rule withholds a tool or asks about one"><code>policy.deny</code> and <code>policy.approve</code> in the configuration do; <code>docs/CONFIGURATION.md</code> tells how.<//>
          `}
          ${special.length > 0 && html`
            <div class="scroll" tabindex="0" role="region" aria-label="Table of rules">
              <table>
                <thead>
                  <tr>
                    <th>Tool</th>
                    <th>Verdict</th>
                    <th>Effect</th>
                  </tr>
                </thead>
                <tbody>${special.slice(0, 300).map((tool) =>
                  html`
                    <tr key=${tool.id}>
                      <td><a href=${to("tools", tool.id)}>${plain(tool.id, 100)}</a></td>
                      <td>
                        <${Status} of=${tool.policy} />
                      </td>
                      <td>${tool.effect}</td>
                    </tr>
                  `
                )}</tbody>
              </table>
            </div>
          `}
        </section>
        <section aria-labelledby="acting">
      <h2 id="acting">Tools that act on the world</h2>
      <p
        class="dim">${acting.length} of ${all
          .length}. What a tool does is told by its server, by its name, or by <code>policy.effects</code>.</p>
      <details open=${acting.length <= MOST_OPEN}>
        <summary>${acting.length === 1 ? "The tool" : `The ${acting.length} tools`}</summary>
        <ul class="lines columns-list">${acting.slice(0, 200).map((tool) =>
          html`<li key=${tool.id}><a href=${to("tools", tool.id)}>${
            plain(tool.id, 80)
          }</a> <span class="dim">${tool.effect}</span></li>`
        )}</ul>
      </details>
    </section>
  `;
}
