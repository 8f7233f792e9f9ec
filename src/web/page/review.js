// Definitions that changed since they were pinned, word by word, with the person's yes.
import { ask } from "./api.js";
import { Ago, Confirm, html, plain, Problem, useState } from "./ui.js";

const STATES = {
  changed: "changed and withheld",
  passed: "changed; agents see the old text",
  new: "new, in use",
  new_withheld: "new and withheld",
};

/** One server whose definitions wait for a person. */
export function Review({ review, onDone }) {
  const [error, setError] = useState();
  const [isBusy, setBusy] = useState(false);
  const { server, folder, hash, items } = review;
  const accept = async () => {
    setBusy(true);
    await ask("review_accept", { server, hash, ...(folder && { folder }) }).catch(setError);
    setBusy(false);
    onDone();
  };
  return html`<li class="card"><h3>Definitions of “${plain(server, 64)}” wait for your review</h3>
    ${folder && html`<p class="dim">in ${plain(folder, 300)}</p>`}
    ${
    review.identityChangedAt && html`<p>Its program or address changed <${Ago} at=${review.identityChangedAt} />.</p>`
  }
    ${
    items.slice(0, 40).map((item) =>
      html`<details key=${`${item.kind} ${item.name}`} open=${items.length <= 3}><summary>${plain(item.kind, 20)} ${
        plain(item.name, 100)
      }: ${STATES[item.state] ?? plain(item.state, 40)}</summary>
      ${item.why && html`<p>${plain(item.why, 600)}</p>`}${
        item.isTooLarge && html`<p>The new definition is too large to be shown.</p>`
      }
      ${
        item.diff.map(({ field, parts }) =>
          html`<p class="diff"><b>${plain(field, 100)}</b> ${
            parts.map(({ op, text }) =>
              op === "added"
                ? html`<ins>${plain(text, 4_000)}</ins>`
                : op === "removed"
                ? html`<del>${plain(text, 4_000)}</del>`
                : html`<span>${plain(text, 4_000)}</span>`
            )
          }</p>`
        )
      }</details>`
    )
  }
    ${
    items.length > 40 &&
    html`<p class="dim">${items.length - 40} more: agentcards review ${plain(server)} shows all.</p>`
  }
    <div class="actions"><${Confirm} label="Accept all of it" sure="Agents get these definitions. Sure?" disabled=${
    isBusy || items.length > 40
  } onDo=${accept} /></div>
    <${Problem} error=${error} /></li>`;
}
