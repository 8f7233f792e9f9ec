import { AgentCardsError, cut, oneLine, sanitise, type ServerRequest, withoutInvisible } from "../../model/mod.ts";

const LONGEST_MESSAGE = 4_000;
const LONGEST_QUESTION = 64 * 1024;
/** A model may be shown pictures. */
const LONGEST_SAMPLING = 4 * 1024 * 1024;
const LONGEST_URL = 2_048;

/**
 * A server's question as a client gets it: without invisible characters, of bounded size, and a question to a human with
 * the name of its server before it. Throws where it must not be put at all.
 */
export function presentable({ method, params }: ServerRequest, server: string): ServerRequest {
  const isSampling = method === "sampling/createMessage";
  const size = JSON.stringify(params).length;
  const most = isSampling ? LONGEST_SAMPLING : LONGEST_QUESTION;
  if (size > most) throw refused(server, `a question of ${size} characters; the most is ${most}`);
  const clean = withoutInvisible(params);
  if (isSampling) {
    // To the client, "this server" means all servers behind us.
    return {
      method,
      params: { ...clean, ...clean.includeContext !== undefined && { includeContext: "none" } },
      from: server,
    };
  }
  if (method !== "elicitation/create") return { method, params: clean, from: server };
  const url = clean.mode === "url" ? { url: pageAddress(clean.url, server) } : {};
  const form = clean.requestedSchema === undefined
    ? {}
    : { requestedSchema: withoutForgedNames(clean.requestedSchema) };
  const message = namedMessage(params.message, server);
  return { method, params: { ...clean, ...url, ...form, message }, from: server };
}

/** The message of a server, with the server's name before it. No line of it can pass for another server's. */
export function namedMessage(message: unknown, server: string): string {
  const said = typeof message === "string" ? withoutForgedName(sanitise(message)) : "";
  const words = said.replace(/\n\s*\n/g, "\n\n").trim();
  return `[server ${oneLine(server, 64)}] ${cut(words, LONGEST_MESSAGE)}`;
}

/** A text in which no words look like the name that stands before a question. */
function withoutForgedName(text: string): string {
  // Letters of other scripts and other brackets look the same to a human.
  return text.replaceAll(/[\[［【〔❲⟦⦗﹝](?=\s*[sｓѕ]\S{1,5}[rｒг]\b)/giu, "(");
}

/** A form whose titles and descriptions look like no server's name. */
function withoutForgedNames<T>(value: T): T {
  if (typeof value === "string") return withoutForgedName(value) as T;
  if (Array.isArray(value)) return value.map(withoutForgedNames) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, FORM_TEXTS.has(key) ? withoutForgedNames(item) : deeper(item)]),
  ) as T;
}

const FORM_TEXTS = new Set(["title", "description", "enumNames"]);

function deeper(item: unknown): unknown {
  return typeof item === "object" && item !== null ? withoutForgedNames(item) : item;
}

/** The address of a page that a human may be sent to: https, or http on this machine, without a user's name in it. */
function pageAddress(given: unknown, server: string): string {
  const url = typeof given === "string" && given.length <= LONGEST_URL ? URL.parse(given) : null;
  const isSafe = url?.protocol === "https:" || url?.protocol === "http:" && isLoopback(url.hostname);
  if (!url || !isSafe || url.username || url.password) {
    const shown = oneLine(String(given), 100);
    throw refused(server, `to send a human to ${shown}; only https, and http on this machine, is allowed`);
  }
  return /^[\x21-\x7e]+$/.test(given as string) ? given as string : url.href;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function refused(server: string, what: string): AgentCardsError {
  return new AgentCardsError("INPUT_INVALID", `Server "${server}" wants ${what}`);
}
