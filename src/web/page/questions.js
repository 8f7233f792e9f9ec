// Questions of servers to the person, as forms.
import { SchemaForm } from "./form.js";
import { Dialog, html, plain, useRef, useState, Value } from "./ui.js";

/** Questions that wait for an answer: `put` shows one and gives the answer. */
export function useQuestions() {
  const [open, setOpen] = useState([]);
  const next = useRef(0);
  return {
    open,
    put: (request, signal) =>
      new Promise((resolve) => {
        const key = ++next.current;
        const answer = (result) => {
          setOpen((all) => all.filter((one) => one.key !== key));
          resolve(result);
        };
        signal.addEventListener("abort", () => answer(undefined));
        setOpen((all) => [...all, { key, request, answer }]);
      }),
  };
}

export function Questions({ questions: { open } }) {
  const [first] = open;
  return first ? html`<${QuestionDialog} key=${first.key} ...${first} />` : null;
}

function QuestionDialog({ request, answer }) {
  const { approval, params, from } = request;
  if (approval) {
    return html`
      <${Dialog} title="Allow exactly this call?" onClose=${() => answer(undefined)}>
        <${CallToDecide} call=${approval} />
        <div class="actions"><button type="button" class="primary" onClick=${() =>
          answer({ action: "accept", content: { allow: true } })}>Allow once</button>
              <button type="button" onClick=${() =>
                answer({ action: "accept", content: { allow: false } })}>Refuse</button></div>
        <//>
    `;
  }
  const { message, requestedSchema, mode, url } = params ?? {};
  const said = plain(String(message ?? "").replace(`[server ${from}] `, ""), 4_000);
  return html`<${Dialog} title=${`The server “${plain(from, 60)}” asks`} onClose=${() => answer(undefined)}>
    <p class="said">${said}</p>
    ${
    mode === "url"
      ? html`
        <p>It wants you to open this page. Open it yourself, if you trust it:</p>
        <${Value} value=${String(url)} label="address" />
        <div class="actions"><button type="button" class="primary" onClick=${() =>
          answer({ action: "accept" })}>I opened it</button>
                  <button type="button" onClick=${() => answer({ action: "decline" })}>Refuse</button></div>
      `
      : html`<${SchemaForm} schema=${requestedSchema ?? { type: "object", properties: {} }} send="Answer" onSend=${(
        content,
      ) => answer({ action: "accept", content })}>
          <button type="button" onClick=${() => answer({ action: "decline" })}>Refuse to answer</button>
          <button type="button" class="quiet" onClick=${() => answer(undefined)}>Not now</button><//>`
  }
  <//>`;
}

/** A call as it would go out, whole. */
export function CallToDecide({ call }) {
  const [server, ...name] = String(call.tool).split(":");
  return html`
    <dl class="facts"><dt>Server</dt><dd>${plain(server, 80)}</dd><dt>Tool</dt><dd><b>${plain(
      name.join(":"),
      200,
    )}</b></dd>
        <dt>Why it is asked</dt><dd>${plain(call.why, 600)}</dd>
        ${call.cwd && html`
          <dt>Folder</dt>
          <dd>${plain(call.cwd, 300)}</dd>
        `}
        ${call.task && html`
          <dt>Run</dt>
          <dd><a href=${`#/runs/${encodeURIComponent(call.id)}`}>${plain(call.id)}</a>, task ${plain(
            call.task,
            80,
          )}</dd>
        `}</dl>
    <h3>Arguments</h3>
    <${Value} value=${call.arguments} label="arguments" />
  `;
}
