// What a paused run waits for, with the decisions that are possible.
import { useDecision } from "./decide.js";
import { CallToDecide } from "./questions.js";
import { ask } from "./api.js";
import { titleOf } from "./titles.js";
import { Confirm, html, plain, Problem, useEffect, useState, Value } from "./ui.js";

export function Pending({ run, onDone }) {
  const { decide, isBusy, error, question } = useDecision(onDone);
  const { pending } = run;
  const { reason, task } = pending;
  const send = (action, more = {}) => decide({ workflow_id: run.id, action, ...more });
  return html`<h3>${titleOf(reason)}</h3>
    ${reason !== "approval" && html`<p>${plain(pending.why, 2_000)}</p>`}
    ${reason === "approval" && html`<${Approval} run=${run} send=${send} isBusy=${isBusy} />`}
    ${
    reason === "question" && html`
      ${pending.call && html`<${Value} value=${pending.call} label="call" most=${3_000} />`}
            <div
        class="actions"><button type="button" class="primary" disabled=${isBusy} onClick=${() =>
          send("continue")}>Answer it</button></div>
    `
  }
    ${
    reason === "in_doubt" && html`${pending.call && html`<${Value} value=${pending.call} label="call" most=${3_000} />`}
      <p>Find out whether it happened, then say so.</p><div class="actions">
      ${
      [["done", "It is done"], ["retry", "Do it again"], ["skip", "Go on without it"]].map(([outcome, label]) =>
        html`<${Confirm} label=${label} sure=${`${label}: sure?`} disabled=${isBusy} onDo=${() =>
          send("resolve", { task, outcome })} />`
      )
    }</div>`
  }
    ${
    reason === "sign_in" &&
    html`<p>Sign in at a terminal: <code>agentcards login ${
      plain(String(pending.call?.tool ?? "SERVER").split(":")[0])
    }</code>. The run goes on by itself then.</p>`
  }
    ${
    ["effects", "layer", "after"].includes(reason) && pending.call &&
    html`<${Value} value=${pending.call} label="next call" most=${3_000} />`
  }
    <${Problem} error=${error} />${question}`;
}

/** The exact call, and the word of the person, bound to its hash. */
function Approval({ run, send, isBusy }) {
  const [call, setCall] = useState();
  const [error, setError] = useState();
  const [note, setNote] = useState("");
  useEffect(() => void ask("approvals").then((all) => setCall(all.find(({ id }) => id === run.id) ?? null), setError), [
    run.id,
    run.updated,
  ]);
  if (error) return html`<${Problem} error=${error} />`;
  if (call === null) {
    return html`<p>The call that this run shows is not the call it asked for: its journal was edited. Abort the run.</p>`;
  }
  if (!call) return null;
  const decision = { hash: call.hash, ...(note.trim() && { note: note.trim() }) };
  return html`
    <${CallToDecide} call=${call} />
    <div
      class="field"><label for=${`note-${run.id}`}>Reason <span class="optional">optional</span></label><input id=${`note-${run.id}`} maxlength="500" value=${note} onInput=${(
        event,
      ) => setNote(event.currentTarget.value)} /></div>
    <div class="actions"><button type="button" class="primary" disabled=${isBusy} onClick=${() =>
      send("approve", decision)}>Allow once</button>
          <button type="button" disabled=${isBusy} onClick=${() => send("reject", decision)}>Refuse</button></div>
  `;
}
