// The one stream of events. It reconnects by itself, and says from which row on each open run wants its events.
import { hasToken, stream } from "./api.js";

const listeners = new Set();
const cursors = new Map();
const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 5_000;

let state = { link: "connecting", pid: undefined, approvals: 0 };
let isStarted = false;

function tell(message) {
  for (const listener of listeners) listener(message);
}

function change(next) {
  state = { ...state, ...next };
  tell({ state });
}

/** The state of the connection: `open`, `connecting` or `away`. */
export function linkState() {
  return state;
}

/** Hears `{event}` of runs, `{state}` of the connection and `{restarted}` when another engine answers. */
export function listen(listener) {
  listeners.add(listener);
  if (!isStarted) void run();
  return () => listeners.delete(listener);
}

/** True for an event that lists of runs show: a run began, rests, goes on or ended. The first row itself is not told. */
export function changesList(event) {
  return event !== undefined && (event.seq <= 2 || ["finished", "paused", "resumed"].includes(event.kind));
}

/** Says which events of a run this page has; `last()` is the number of its newest row. */
export function follow(run, last) {
  cursors.set(run, last);
  return () => cursors.delete(run);
}

async function run() {
  isStarted = true;
  let wait = FIRST_WAIT_MS;
  while (hasToken()) {
    try {
      const runs = [...cursors].map(([id, last]) => ({ id, after: last() }));
      await stream("watch", { runs }, {
        onProgress(message) {
          wait = FIRST_WAIT_MS;
          if (message.engine) {
            const isOther = state.pid !== undefined && state.pid !== message.engine.pid;
            change({ link: "open", pid: message.engine.pid });
            if (isOther) tell({ restarted: true });
          } else if ("approvals" in message) change({ approvals: message.approvals });
          else if (message.event) tell(message);
        },
      });
    } catch {
      // It is tried again.
    }
    change({ link: "away" });
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(LONGEST_WAIT_MS, wait * 2);
  }
  isStarted = false;
}
