// The frame around all pages: who is let in, which page is shown, how the connection is.
import { enter, hasToken, methods, pair, paired, whenSignedOut } from "./api.js";
import { linkState, listen } from "./events.js";
import { Empty, html, plain, Problem, render, to, useEffect, useRef, useState } from "./ui.js";

const PAGES = [
  ["now", "Now", () => import("./pages/now.js")],
  ["runs", "Runs", () => import("./pages/runs.js")],
  ["new", "New run", () => import("./pages/new.js")],
  ["waiting", "Waiting for you", () => import("./pages/waiting.js")],
  ["servers", "Servers", () => import("./pages/servers.js")],
  ["tools", "Tools", () => import("./pages/tools.js")],
  ["knowledge", "Knowledge", () => import("./pages/knowledge.js")],
  ["policy", "Policy", () => import("./pages/policy.js")],
  ["audit", "Audit", () => import("./pages/audit.js")],
  ["usage", "Usage", () => import("./pages/usage.js")],
];

function placeOf() {
  const [name = "now", ...rest] = location.hash.replace(/^#\/?/, "").split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { name: name || "now", rest };
}

function App() {
  const [isIn, setIn] = useState(hasToken());
  useEffect(() => whenSignedOut(() => setIn(false)), []);
  return isIn ? html`<${Frame} />` : html`<${Door} onIn=${() => setIn(true)} />`;
}

/** The page of a tab that was not let in yet. */
function Door({ onIn }) {
  const [digits, setDigits] = useState();
  const [error, setError] = useState();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const gone = new AbortController();
    const [, code] = /^#code=([0-9a-f]+)$/.exec(location.hash) ?? [];
    // The code is good once; it is not kept where somebody could read it later.
    if (code) history.replaceState(null, "", "/");
    const come = async () => {
      if (code && await enter(code)) return onIn();
      const pairing = await pair();
      setDigits(pairing.digits);
      if (await paired(pairing.id, gone.signal)) onIn();
      else if (!gone.signal.aborted) setRound((n) => n + 1);
    };
    come().catch((problem) => gone.signal.aborted || setError(problem));
    return () => gone.abort();
  }, [round]);
  return html`<main class="door">
    <h1>AgentCards</h1>
    ${
    error
      ? html`<${Problem} error=${error} onRetry=${() => (setError(undefined), setRound((n) => n + 1))} />`
      : digits
      ? html`
        <p>Type these digits in the terminal where the dashboard was started:</p>
        <p class="digits" aria-label=${`The digits ${[...digits].join(" ")}`}>${digits.slice(0, 3)} ${digits.slice(
          3,
        )}</p>
        <p class="hint">Only a person at that terminal can let this page in.</p>
      `
      : html`<p aria-live="polite">Opening …</p>`
  }
  </main>`;
}

function Frame() {
  const [place, setPlace] = useState(placeOf());
  const [link, setLink] = useState(linkState());
  const [known, setKnown] = useState(new Set());
  const [isMenu, setMenu] = useState(false);
  const main = useRef(null);
  useEffect(() => {
    const moved = () => {
      setPlace(placeOf());
      setMenu(false);
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    };
    addEventListener("hashchange", moved);
    const stop = listen((message) => message.state && setLink(message.state));
    methods().then(setKnown, () => {});
    return () => (removeEventListener("hashchange", moved), stop());
  }, []);
  const current = PAGES.find(([name]) => name === place.name) ?? PAGES[0];
  useEffect(() => void (document.title = `${current[1]} · AgentCards`), [current]);
  return html`
    <a class="skip" href="#content" onClick=${(
      event,
    ) => (event.preventDefault(), main.current.focus())}>To the content</a>
    <header class="side">
      <div class="brand"><a href="#/now"><img src="/page/icon.svg" alt="" width="22" height="22" /> AgentCards</a>
            <button type="button" class="menu quiet" aria-expanded=${isMenu} aria-controls="pages" onClick=${() =>
              setMenu(!isMenu)}>${current[1]} ▾</button></div>
      <nav id="pages" class=${isMenu ? "open" : ""} aria-label="Pages">
            ${PAGES.map(([name, label]) =>
              html`<a href=${to(name)} aria-current=${name === current[0] ? "page" : undefined}>${label}
          ${
                name === "waiting" && link.approvals > 0 &&
                html`<span class="badge" aria-label=${`${link.approvals} waiting`}>${link.approvals}</span>`
              }</a>`
            )}
          </nav>
      <${Link} link=${link.link} />
    </header>
    <main id="content" ref=${main} tabindex="-1">
      <${Page} key=${`${current[0]}/${place.rest.join("/")}`} page=${current} rest=${place.rest} known=${known} />
    </main>
  `;
}

function Link({ link }) {
  const words = { open: "Connected", connecting: "Connecting …", away: "Engine is away; trying again …" };
  return html`<p class="link ${link}" role="status"><i aria-hidden="true"></i>${words[link]}</p>`;
}

function Page({ page: [, label, load], rest, known }) {
  const [View, setView] = useState();
  const [error, setError] = useState();
  useEffect(() => {
    let isGone = false;
    load().then(({ default: view }) => isGone || setView(() => view), (problem) => isGone || setError(problem));
    return () => isGone = true;
  }, []);
  if (error) {
    return html`
      <h1>${label}</h1>
      <${Empty} title="This page could not be loaded">${plain(error.message)}<//>
    `;
  }
  return View ? html`<${View} rest=${rest} known=${known} />` : html`<h1>${label}</h1>`;
}

render(html`<${App} />`, document.getElementById("app"));
