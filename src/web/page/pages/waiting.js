import { ask } from "../api.js";
import { listen } from "../events.js";
import { Pending } from "../pending.js";
import { Review } from "../review.js";
import { CallToDecide } from "../questions.js";
import { titleOf } from "../titles.js";
import { Ago, Empty, html, plain, Problem, to, useEffect, useEvery, useLoad, useState } from "../ui.js";

/** Everything that only a person can decide. */
export default function Waiting() {
  const { data, error, reload } = useLoad(async (signal) => {
    const [calls, runs, review] = await Promise.all([
      ask("approvals", {}, signal),
      ask("runs", { status: ["running", "paused"], limit: 200 }, signal),
      ask("review", {}, signal),
    ]);
    return {
      calls: calls.filter(({ task }) => task === undefined),
      runs: runs.filter(({ status }) => status === "paused"),
      // What is merely new and in use hurries nobody.
      reviews: review.servers.map((one) => ({ ...one, items: one.items.filter(({ state }) => state !== "new") }))
        .map((one, i) => one.items.length > 0 ? { ...one, items: review.servers[i].items } : undefined).filter(Boolean),
    };
  });
  useEvery(5_000, reload);
  useEffect(() => {
    let timer;
    const stop = listen(({ event, state, restarted }) => {
      if (!restarted && !state && !["paused", "resumed", "finished", "command"].includes(event?.kind)) return;
      timer ??= setTimeout(() => (timer = undefined, reload()), 150);
    });
    return () => (clearTimeout(timer), stop());
  }, []);
  const { calls = [], runs = [], reviews = [] } = data ?? {};
  // What a person must decide stands before what goes on by itself.
  const order = ["approval", "question", "in_doubt", "sign_in"];
  const rank = ({ pending }) => (order.indexOf(pending?.reason) + order.length + 1) % (order.length + 1);
  const sorted = runs.toSorted((a, b) => rank(a) - rank(b) || b.updated - a.updated);
  return html`<h1>Waiting for you</h1>
    <${Problem} error=${error} onRetry=${reload} />
    ${
    data && calls.length + runs.length + reviews.length === 0 && html`
      <${Empty}
        title="Nothing waits for you">Calls that a rule wants you to allow, questions of servers, calls in doubt and paused runs appear here at once.<//>
    `
  }
    <ul class="cards wide">
      ${
    reviews.map((review) =>
      html`<${Review} key=${`${review.server} ${review.folder}`} review=${review} onDone=${reload} />`
    )
  }
      ${calls.map((call) => html`<${OpenCall} key=${call.id} call=${call} onDone=${reload} />`)}
      ${
    sorted.map((run) =>
      html`
        <li class="card" key=${run.id}>
          <p class="dim"><a href=${to("runs", run.id)}>${plain(run.name || run.id, 80)}</a> since <${Ago} at=${run
            .updated} /></p>
          <${Pending} run=${run} onDone=${reload} />
          <${Rest} run=${run} onDone=${reload} />
        </li>
      `
    )
  }
    </ul>`;
}

function Rest({ run }) {
  return html`<p class="dim"><a href=${to("runs", run.id)} aria-label=${`Look at the whole run: ${
    titleOf(run.pending?.reason)
  }`}>Look at the whole run</a></p>`;
}

/** A call whose dialogue is open in a client: whoever answers first, here or there, decides. */
function OpenCall({ call, onDone }) {
  const [error, setError] = useState();
  const [isBusy, setBusy] = useState(false);
  const decide = async (action) => {
    setBusy(true);
    await ask("decide_call", { id: call.id, hash: call.hash, action }).catch(setError);
    setBusy(false);
    onDone();
  };
  return html`
    <li class="card">
      <p class="dim">asked <${Ago} at=${call.since} /></p>
      <h3>A call waits for your approval</h3>
      <${CallToDecide} call=${call} />
      <div
        class="actions"><button type="button" class="primary" disabled=${isBusy} onClick=${() =>
          decide("approve")}>Allow once</button><button type="button" disabled=${isBusy} onClick=${() =>
          decide("reject")}>Refuse</button></div>
      <${Problem} error=${error} />
    </li>
  `;
}
