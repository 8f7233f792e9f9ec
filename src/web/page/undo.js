import { ask } from "./api.js";
import { Dialog, html, plain, Problem, useState } from "./ui.js";

/** The button of a run that is over: shows what an undo would change, and makes it after a yes. */
export function Undo({ run }) {
  const [report, setReport] = useState();
  const [error, setError] = useState();
  const [isBusy, setBusy] = useState(false);

  async function request(preview) {
    setBusy(true);
    setError(undefined);
    try {
      setReport(await ask("run_undo", { id: run.id, preview }));
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  }

  return html`<button type="button" disabled=${isBusy} onClick=${() => request(true)}>Undo its files…</button>
    <${Problem} error=${error} />
    ${report && html`<${Report} ...${{ report, isBusy, request }} onClose=${() => setReport(undefined)} />`}`;
}

function Report({ report, isBusy, request, onClose }) {
  const { state, root, files, conflicts, notes, patch } = report;
  const titles = {
    planned: "Put these files back?",
    refused: "Nothing was undone",
    nothing: "Nothing is to be put back",
    undone: "The files are as before the run",
  };
  return html`<${Dialog} title=${titles[state]} onClose=${onClose}>
    <p class="dim">${plain(root, 300)}</p>
    ${
    conflicts.length > 0 &&
    html`<ul>${conflicts.map(({ path, why }) => html`<li>${plain(path, 300)}: ${why}</li>`)}</ul>`
  }
    <ul>${files.map(({ path, change }) => html`<li>${change} ${plain(path, 300)}</li>`)}</ul>
    ${notes.map((note) => html`<p>${plain(note, 1_000)}</p>`)}
    ${
    state === "planned" && html`
      <pre tabindex="0" role="region" aria-label="Patch">${patch}</pre>
      <div
        class="actions"><button type="button" class="danger" disabled=${isBusy} onClick=${() =>
          request(false)}>Put them back</button></div>
    `
  }
  <//>`;
}
