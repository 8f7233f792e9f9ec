// Asks the process behind this page. The token lives in this tab alone and goes out as a header, never as a cookie.
const KEY = "agentcards.token";

let onSignedOut = () => {};

/** Says what is to be done when the token is not known any more. */
export function whenSignedOut(listener) {
  onSignedOut = listener;
}

/** True if this tab was let in before. */
export function hasToken() {
  return sessionStorage.getItem(KEY) !== null;
}

/** An error of the engine or of the way to it, with a hint where there is one. */
export class PageError extends Error {
  constructor({ code, message, hint }) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

async function post(path, body, signal) {
  const token = sessionStorage.getItem(KEY);
  let response;
  try {
    response = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
      signal,
      credentials: "omit",
      cache: "no-store",
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new PageError({
      code: "AWAY",
      message: "The dashboard's process does not answer",
      hint: "Start it again: agentcards dashboard",
    });
  }
  if (response.status === 401 && path !== "/api/session") {
    sessionStorage.removeItem(KEY);
    onSignedOut();
  }
  return response;
}

async function answerOf(response) {
  const body = await response.json();
  if (body.error) throw new PageError(body.error);
  return body;
}

/** Exchanges a code for a token; false where the code is not good any more. */
export async function enter(code) {
  const response = await post("/api/session", { code });
  if (!response.ok) return false;
  sessionStorage.setItem(KEY, (await response.json()).token);
  return true;
}

/** Gets digits for a person to type at the terminal. */
export async function pair() {
  return await answerOf(await post("/api/pair", {}));
}

/** Waits until the digits were typed; false where they are too old. */
export async function paired(id, signal) {
  while (!signal.aborted) {
    const response = await post("/api/pair/wait", { id }, signal);
    if (!response.ok) return false;
    const { token } = await response.json();
    if (token === undefined) continue;
    sessionStorage.setItem(KEY, token);
    return true;
  }
  return false;
}

/** Asks the engine. */
export async function ask(method, params = {}, signal) {
  return (await answerOf(await post("/api/ask", { method, params }, signal))).result;
}

/** Reads the audit or the log. */
export async function record(method, params = {}, signal) {
  return (await answerOf(await post("/api/record", { method, params }, signal))).result;
}

let known;

/** The names of what the engine can be asked. */
export async function methods() {
  known ??= post("/api/methods", {}).then(answerOf).then(({ result }) => new Set(result));
  known.catch(() => known = undefined);
  return await known;
}

/**
 * Asks for something that takes long: progress as it comes, then the result. `onQuestion(request, signal)` gives the answer
 * of the person, or undefined.
 */
export async function stream(method, params, { onProgress = () => {}, onQuestion, signal } = {}) {
  const response = await post("/api/stream", { method, params, asks: onQuestion !== undefined }, signal);
  if (!response.ok) return (await answerOf(response)).result;
  const asked = new Map();
  const take = async ({ stream: id, question, request }) => {
    const own = new AbortController();
    asked.set(question, own);
    const result = await onQuestion(request, own.signal);
    asked.delete(question);
    if (!own.signal.aborted) await post("/api/answer", { stream: id, question, result: result ?? null });
  };
  try {
    for await (const message of linesOf(response.body)) {
      if ("progress" in message) onProgress(message.progress);
      else if ("withdrawn" in message) asked.get(message.withdrawn)?.abort();
      else if ("question" in message) void take(message);
      else if ("error" in message) throw new PageError(message.error);
      else if ("result" in message) return message.result;
    }
  } finally {
    for (const own of asked.values()) own.abort();
  }
  throw new PageError({ code: "AWAY", message: "The connection broke off" });
}

async function* linesOf(body) {
  let rest = "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const lines = (rest + read.value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line) yield JSON.parse(line);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
