import { ask } from "../api.js";
import { Ago, Confirm, count, Empty, html, plain, Problem, Status, useLoad, useState, Value } from "../ui.js";

const DAY_MS = 86_400_000;
const DAYS = [["1", "a day"], ["7", "7 days"], ["30", "30 days"]];

/** The rules that hold, from the configuration and from the preset. */
export function Rules({ data }) {
  const presets = data.preset_rules.filter(({ off }) => !off);
  return html`
    ${data.problems.map((problem) =>
      html`
        <div class="problem">
          <p>${plain(problem, 600)}</p>
        </div>
      `
    )}
    ${data.rules.length === 0 && html`
      <${Empty}
        title="No rules of yours">A rule looks at arguments, history, origins or results: <code>policy.rules</code> in the configuration; <code>docs/POLICY.md</code> tells how.<//>
    `}
    ${data.rules.length > 0 && html`
      <div class="scroll" tabindex="0" role="region" aria-label="Table of rules of the configuration">
        <table>
          <thead>
            <tr>
              <th>Rule</th>
              <th>Then</th>
              <th>For</th>
              <th>When</th>
              <th>Where it stands</th>
            </tr>
          </thead>
          <tbody>${data.rules.map((rule) =>
            html`
              <tr key=${rule.name}>
                <td><b>${plain(rule.name, 80)}</b>${rule.mode === "observe" &&
                  html`<span class="dim"> (observes)</span>`}</td>
                <td>${plain(rule.then, 40)}</td>
                <td>${plain(rule.match.join(", "), 200)}</td>
                <td><code>${plain(rule.limit ?? rule.when ?? "always", 300)}</code>${rule.never &&
                  html`<div class="wrong">${plain(rule.never, 300)}</div>`}</td>
                <td class="dim">${plain(rule.at ?? "", 160)}</td>
              </tr>
            `
          )}</tbody>
        </table>
      </div>
    `}
    <h3>Preset ${plain(data.preset)}</h3>
    ${presets.length === 0 && html`<p class="dim">It has no rules.</p>`}
    <ul class="lines">${presets.map(({ name, then, says }) =>
      html`<li key=${name}><b>${plain(name, 60)}</b> <span class="dim">${plain(then, 40)}: ${
        plain(says, 300)
      }</span></li>`
    )}</ul>
  `;
}

/** The calls of the last days, judged by the rules that hold now. */
export function Replayed() {
  const [days, setDays] = useState("7");
  const [state, setState] = useState({});
  const replay = async (event) => {
    event.preventDefault();
    setState({ isBusy: true });
    try {
      setState({ found: await ask("policy_replay", { since: Date.now() - Number(days) * DAY_MS }) });
    } catch (error) {
      setState({ error });
    }
  };
  const { found, isBusy, error } = state;
  return html`
    <form class="filters" onSubmit=${replay}>
      <div
        class="field"><label for="replay-days">Calls of</label><select id="replay-days" value=${days} onChange=${(
          event,
        ) => setDays(event.currentTarget.value)}>
          ${DAYS.map(([value, label]) => html`<option value=${value}>${label}</option>`)}</select></div>
      <button disabled=${isBusy}>${isBusy ? "Judging …" : "Replay"}</button>
    </form>
    <${Problem} error=${error} />
    <div role="status">${found &&
      html`<p>Of ${count(found.calls)} calls the rules would refuse ${count(found.denied)} and ask about ${
        count(found.asked)
      }.${found.unjudged > 0 ? ` ${count(found.unjudged)} depend on something that is not kept.` : ""}${
        found.observed > 0 ? ` Rules that only observe have ${count(found.observed)} verdicts.` : ""
      }</p>`}</div>
    ${found?.rules.map(({ rule, then, calls, example }) =>
      html`
        <div class="card" key=${rule}>
          <div class="card-head"><b>${plain(rule, 120)}</b> <span class="dim">${then === "deny"
            ? "refuses"
            : "asks about"} ${count(calls)}</span></div>
          <p class="dim">The newest: ${plain(example.tool, 100)}, <${Ago} at=${example.at} /></p>
          <${Value} value=${example.args} label=${`Arguments of ${example.tool}`} most=${600} />
        </div>
      `
    )}
  `;
}

/** Rules that a person's answers add up to, and the tools that were allowed for good. */
export function Answers() {
  const suggested = useLoad((signal) => ask("policy_suggest", {}, signal));
  const grants = useLoad((signal) => ask("policy_grants", {}, signal));
  const [error, setError] = useState();
  const revoke = async (pattern) => {
    setError(undefined);
    await ask("policy_revoke", { pattern }).then(grants.reload, setError);
  };
  const rules = suggested.data?.rules ?? [];
  const given = grants.data?.grants ?? [];
  return html`
    <${Problem} error=${error ?? suggested.error ?? grants.error} />
    ${suggested.data && rules.length === 0 &&
      html`<p class="dim">No rule follows from your answers yet: three equal ones about a tool make a suggestion.</p>`}
    ${rules.map(({ tool, why, line }) =>
      html`
        <div class="card" key=${line}>
          <p>${plain(tool, 100)}: <span class="dim">${plain(why, 300)}</span></p>
          <${Value} value=${line} label=${`A rule about ${tool}`} />
        </div>
      `
    )}
    <h3>Allowed always</h3>
    ${grants.data && given.length === 0 && html`<p class="dim">No tool.</p>`}
    <ul class="lines">${given.map(({ server, tool, at, client }) => {
      const id = `${server}:${tool}`;
      return html`
        <li
          key=${id}><${Status} of="ok" label=${plain(id, 100)} /> <span class="dim"><${Ago} at=${at} />${client
            ? ` by ${plain(client, 60)}`
            : ""}</span> <${Confirm} label="Take back" sure="Ask about it again?" kind="quiet" onDo=${() =>
            revoke(id)} /></li>
      `;
    })}</ul>
  `;
}
