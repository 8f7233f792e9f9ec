// What all pages are made of. Foreign text is a text node, always: nothing here makes markup out of a string.
import { html, useEffect, useLayoutEffect, useRef, useState } from "/lib/preact.js";

export {
  createContext,
  html,
  render,
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from "/lib/preact.js";

/** Characters that are not seen, or that turn the direction of a text; joiners belong to letters and pictures. */
const HIDDEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}]/gu;

/** A text with invisible and direction-changing characters spelt out. */
export function plain(value, most = 100_000) {
  const text = typeof value === "string" ? value : value === undefined || value === null ? "" : String(value);
  const shown = text.replace(HIDDEN, (found) => `\\u{${found.codePointAt(0).toString(16)}}`);
  return shown.length > most ? `${shown.slice(0, most)} …` : shown;
}

/** A JSON value as indented text. */
export function pretty(value, most) {
  return plain(typeof value === "string" ? value : JSON.stringify(value, null, 2), most);
}

export function count(value) {
  return Number(value ?? 0).toLocaleString("en-US");
}

export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1) return "<1 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round(ms % 60_000 / 1_000)} s`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ${Math.round(ms % 3_600_000 / 60_000)} min`;
  return `${Math.floor(ms / 86_400_000)} d ${Math.round(ms % 86_400_000 / 3_600_000)} h`;
}

export function bytes(size) {
  if (size === null || size === undefined) return "–";
  if (size < 1_000) return `${Math.round(size)} B`;
  return size < 1_000_000
    ? `${(size / 1_000).toFixed(size < 10_000 ? 1 : 0)} kB`
    : `${(size / 1_000_000).toFixed(1)} MB`;
}

export function percent(part, whole) {
  if (!whole) return "–";
  const share = 100 * part / whole;
  return share > 0 && share < 0.1 ? "<0.1 %" : `${share.toFixed(share > 0 && share < 10 ? 1 : 0)} %`;
}

export function clock(at) {
  return new Date(at).toLocaleTimeString("sv");
}

export function dateTime(at) {
  const date = new Date(at);
  return `${date.toLocaleDateString("sv")} ${date.toLocaleTimeString("sv")}`;
}

export function ago(at) {
  const s = Math.max(0, (Date.now() - at) / 1_000);
  if (s < 10) return "just now";
  if (s < 60) return `${Math.floor(s)} s ago`;
  if (s < 3_600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86_400) return `${Math.floor(s / 3_600)} h ago`;
  return `${Math.floor(s / 86_400)} d ago`;
}

/** A time as its distance from now, with the exact time as its title. */
export function Ago({ at }) {
  return html`<time datetime=${new Date(at).toISOString()} title=${dateTime(at)}>${ago(at)}</time>`;
}

const TONES = {
  running: "busy",
  starting: "busy",
  loading: "busy",
  completed: "good",
  success: "good",
  ok: "good",
  open: "good",
  ready: "good",
  allow: "good",
  paused: "wait",
  waiting: "",
  approval: "wait",
  question: "wait",
  ask: "wait",
  approve: "wait",
  partial: "wait",
  in_doubt: "bad",
  failed: "bad",
  error: "bad",
  failed_safe: "bad",
  denied: "bad",
  deny: "bad",
  refused: "bad",
  unusable: "bad",
};

const WORDS = { success: "done", in_doubt: "in doubt", failed_safe: "failed safely", ok: "ok" };

/** A state as a word with a mark of its own shape, so that colour is never all that tells. */
export function Status({ of, label }) {
  const tone = TONES[of] ?? "";
  return html`<span class="status ${tone}"><i aria-hidden="true"></i>${
    label ?? WORDS[of] ?? plain(of).replaceAll("_", " ")
  }</span>`;
}

export function toneOf(status) {
  return TONES[status] ?? "";
}

/** The empty state of a list: what it is for, and what to do. */
export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>${children && html`<div>${children}</div>`}</div>`;
}

export function Problem({ error, onRetry }) {
  if (!error) return null;
  return html`<div class="problem" role="alert">
    <p>${plain(error.message ?? error, 4_000)}</p>
    ${error.hint && html`<p class="hint">${plain(error.hint, 1_000)}</p>`}
    ${onRetry && html`<button type="button" onClick=${onRetry}>Try again</button>`}
  </div>`;
}

/** A value as text in a box that can be scrolled and copied. */
export function Value({ value, label, most = 20_000 }) {
  const [isWhole, setWhole] = useState(false);
  const text = pretty(value, isWhole ? Infinity : most);
  const isCut = !isWhole && text.length > most;
  return html`<div class="value">
    <pre tabindex="0" aria-label=${label ?? "value"} role="region">${text}</pre>
    ${isCut && html`<button type="button" class="quiet" onClick=${() => setWhole(true)}>Show all of it</button>`}
  </div>`;
}

/** Data that is loaded, and loaded again by `reload`; what came last stays while more is on its way. */
export function useLoad(load, needs = []) {
  const [state, setState] = useState({ data: undefined, error: undefined, isLoading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const gone = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    load(gone.signal).then(
      (data) => gone.signal.aborted || setState({ data, error: undefined, isLoading: false }),
      (error) => gone.signal.aborted || setState((before) => ({ ...before, error, isLoading: false })),
    );
    return () => gone.abort();
  }, [...needs, round]);
  return { ...state, reload: () => setRound((n) => n + 1) };
}

/** Calls a function every so often while the page is seen. */
export function useEvery(ms, work) {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || latest.current(), ms);
    return () => clearInterval(timer);
  }, [ms]);
}

/** Rows of one height, of which those in sight are drawn: a list of any length costs the same. */
export function Windowed({ items, rowHeight, height, row, label, head, onEnd }) {
  const box = useRef(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(height);
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(() => box.current && setRoom(box.current.clientHeight || height));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / rowHeight) - 8);
  const last = Math.min(items.length, Math.ceil((top + room) / rowHeight) + 8);
  const onScroll = ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
    setTop(scrollTop);
    if (onEnd && scrollHeight - scrollTop - clientHeight < 20 * rowHeight) onEnd();
  };
  const size = Math.min(height, (items.length + 0.02) * rowHeight + 2);
  return html`<div class="grid" role="table" aria-label=${label} aria-rowcount=${items.length + (head ? 1 : 0)}>
    ${
    head && html`
      <div role="rowgroup">
        <div class="grid-head" role="row">${head}</div>
      </div>
    `
  }
    <div class="window" ref=${box} onScroll=${onScroll} tabindex="0" role="rowgroup" aria-label=${label} style=${{
    height: `${size}px`,
    "--row": `${rowHeight}px`,
  }}>
      <div role="presentation" style=${{ height: `${first * rowHeight}px` }}></div>
      ${items.slice(first, last).map((item, i) => row(item, first + i))}
      <div role="presentation" style=${{ height: `${Math.max(0, items.length - last) * rowHeight}px` }}></div>
    </div>
  </div>`;
}

/** A dialogue over the page. Escape closes it, and the focus goes back to where it was. */
export function Dialog({ title, onClose, children }) {
  const box = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    box.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`
    <dialog ref=${box} aria-labelledby="dialog-title" onCancel=${(event) => {
      event.preventDefault();
      onClose();
    }}>
      <header><h2 id="dialog-title">${title}</h2><button type="button" class="quiet" onClick=${onClose}>Close</button></header>
      <div class="dialog-body">${children}</div>
    </dialog>
  `;
}

/** A button that asks once more before it does something that cannot be taken back. */
export function Confirm({ label, sure, onDo, kind = "", disabled }) {
  const [isAsked, setAsked] = useState(false);
  if (!isAsked) {
    return html`<button type="button" class=${kind} disabled=${disabled} onClick=${() =>
      setAsked(true)}>${label}</button>`;
  }
  return html`<span class="confirm"><span>${sure}</span>
    <button type="button" class="danger" ref=${(button) =>
    button?.focus()} onClick=${() => (setAsked(false), onDo())}>Yes</button>
    <button type="button" onClick=${() => setAsked(false)}>No</button></span>`;
}

/** The address of a page in this document. */
export function to(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

const loading = new Map();

/** Loads a script or a style sheet of a package once. */
export function library(name) {
  if (!loading.has(name)) {
    loading.set(
      name,
      new Promise((resolve, reject) => {
        const isStyle = name.endsWith(".css");
        const element = document.createElement(isStyle ? "link" : "script");
        if (isStyle) Object.assign(element, { rel: "stylesheet", href: `/lib/${name}` });
        else element.src = `/lib/${name}`;
        element.onload = () => resolve();
        element.onerror = () => reject(new Error(`${name} could not be loaded`));
        document.head.append(element);
      }),
    );
  }
  return loading.get(name);
}
