import { ask, stream } from "../api.js";
import { SchemaForm } from "../form.js";
import { Questions, useQuestions } from "../questions.js";
import { count, Empty, html, plain, Problem, to, useEffect, useLoad, useState } from "../ui.js";

const EXAMPLE = `tasks:
  - id: first
    tool: server:tool
    arguments: { text: hello }
  - id: second
    tool: server:other
    arguments: { text: "$OUTPUT[first]" }
`;

/** Starts a run: a saved workflow, tasks as YAML, or a prompt for an agent. */
export default function New({ rest: [name] }) {
  const saved = useLoad((signal) => ask("workflows", {}, signal));
  const [work, setWork] = useState({});
  const questions = useQuestions();
  const start = async (params) => {
    setWork({ isBusy: true });
    try {
      // As soon as the run has an id its own page shows it; it goes on without this one.
      const answer = await stream("run", params, {
        onQuestion: questions.put,
        onProgress: ({ id }) => id && (location.hash = to("runs", id)),
      });
      location.hash = to("runs", answer.workflow_id);
    } catch (error) {
      setWork({ error });
    }
  };
  const chosen = saved.data?.find((one) => one.name === name);
  return html`
    <h1>New run</h1>
    <div class="columns">
      <section
        aria-labelledby="saved"><h2 id="saved">A saved workflow</h2><${Problem} error=${saved.error} onRetry=${saved
          .reload} />
            ${saved.data?.length === 0 && html`
              <${Empty}
                title="No workflow is saved yet">A run that succeeded can be saved: <code>agentcards workflow save RUN NAME</code>.<//>
            `}
            <ul class="lines">${(saved.data ?? []).map((one) =>
              html`<li key=${one.name}>${
                one.problem
                  ? html`<b>${plain(one.name)}</b> <span class="wrong">${plain(one.problem, 300)}</span>`
                  : html`
                    <a href=${to("new", one.name)} aria-current=${one.name === name ? "true" : undefined}>${plain(
                      one.name,
                      64,
                    )}</a> <span
                      class="dim">${plain(one.description, 160)} (${count(one.tasks)} ${one.tasks === 1
                        ? "task"
                        : "tasks"})</span>
                  `
              }</li>`
            )}</ul>
            ${chosen && !chosen.problem && html`
              <div class="card">
                <h3>${plain(chosen.name)}</h3>
                <p>${plain(chosen.description, 1_000)}</p>
                <${SchemaForm} key=${chosen.name} schema=${chosen.parameters ??
                  { type: "object", properties: {} }} send="Run it" isBusy=${work.isBusy} onSend=${(input) =>
                  start({ saved: chosen.name, input })} />
              </div>
            `}
            <h2>A prompt for an agent</h2>
            <${Agent} onRun=${(task) => start({ name: `${task.agent}: ${task.prompt.slice(0, 60)}`, tasks: [task] })}
              isBusy=${work.isBusy} />
          </section>
      <section aria-labelledby="tasks">
        <h2 id="tasks">Tasks as YAML</h2>
        <${Editor} onRun=${(text) => start({ text, path: "a run of the dashboard" })} isBusy=${work.isBusy} />
      </section>
    </div>
    <${Problem} error=${work.error} />
    <${Questions} questions=${questions} />
  `;
}

/** One task of an agent program that is configured, or that is on this machine. */
function Agent({ onRun, isBusy }) {
  const { data, error, reload } = useLoad((signal) => ask("agents", {}, signal));
  const [agent, setAgent] = useState("");
  const [prompt, setPrompt] = useState("");
  const usable = (data ?? []).filter(({ problem }) => problem === null);
  const chosen = usable.find(({ name }) => name === agent) ?? usable[0];
  const run = (event) => {
    event.preventDefault();
    onRun({ id: "agent", type: "agent", agent: chosen.name, prompt });
  };
  return html`
    <${Problem} error=${error} onRetry=${reload} />
    ${data && usable.length === 0 && html`
      <${Empty}
        title="No agent can be started">Programs such as <code>claude</code> and <code>codex</code> are found by themselves; others are configured as <code>agents</code>.<//>
    `}
    ${chosen && html`
      <form onSubmit=${run}>
        <div class="field"><label for="agent">Agent</label><select id="agent" value=${chosen.name} onChange=${(event) =>
          setAgent(event.currentTarget.value)}>${usable.map(({ name }) =>
            html`<option value=${name}>${plain(name, 60)}</option>`
          )}</select></div>
        ${!chosen.governed &&
          html`
            <p
              class="note wait">Its own tools are not governed: rules, approvals and the audit hold for calls through the gateway.</p>
          `}
        <div class="field"><label for="prompt">Prompt</label><textarea id="prompt" rows="5" value=${prompt} onInput=${(
          event,
        ) => setPrompt(event.currentTarget.value)}></textarea></div>
        <div class="actions"><button disabled=${isBusy || prompt.trim() === ""}>Ask it</button></div>
      </form>
    `}
  `;
}

function Editor({ onRun, isBusy }) {
  const [text, setText] = useState(() => sessionStorage.getItem("agentcards.draft") ?? EXAMPLE);
  const [check, setCheck] = useState();
  useEffect(() => {
    sessionStorage.setItem("agentcards.draft", text);
    let isGone = false;
    const timer = setTimeout(
      () => ask("workflow_check", { text: text || " " }).then((found) => isGone || setCheck(found), () => {}),
      250,
    );
    return () => (isGone = true, clearTimeout(timer));
  }, [text]);
  return html`
    <form onSubmit=${(event) => (event.preventDefault(), onRun(text))}>
      <div
        class="field"><label for="yaml">Tasks</label><textarea id="yaml" class="code" rows="16" spellcheck=${false} aria-describedby="yaml-check" value=${text} onInput=${(
          event,
        ) => setText(event.currentTarget.value)}></textarea></div>
      <p id="yaml-check" role="status" class=${check?.problem ? "wrong pre" : "dim"}>${!check
        ? " "
        : check.problem
        ? plain(check.problem, 3_000)
        : `${check.tasks} ${
          check.tasks === 1 ? "task" : "tasks"
        }, no mistake found; tools and arguments are checked when it starts`}</p>
      <div class="actions"><button class="primary" disabled=${isBusy || !check || check.problem}>${isBusy
        ? "Starting …"
        : "Run"}</button></div>
    </form>
  `;
}
