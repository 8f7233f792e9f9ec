import { AgentCardsError, oneLine } from "../model/mod.ts";
import { SYSTEM_PATH } from "../platform/mod.ts";
import { Command } from "../platform/start.ts";
import { untraced } from "../telemetry/mod.ts";
import type { Alert } from "./alert.ts";

/** A program that reads an alert from its stdin. */
export interface CommandChannel {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
}

/** An address that an alert is posted to. */
export interface WebhookChannel {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export type Channel = CommandChannel | WebhookChannel;

const PATIENCE_MS = 10_000;
const LONGEST_TITLE = 200;
const LONGEST_TEXT = 1_000;

/** Sends an alert. Rejects where the channel is not there, fails or takes too long. */
export async function sendTo(channel: Channel, alert: Alert): Promise<void> {
  const body = bodyOf(alert);
  if ("command" in channel) await pipeTo(channel, body);
  else await post(channel, body);
}

/** The alert as JSON. `text` alone says everything: chat programs show that field. */
function bodyOf({ kind, subject, title, text }: Alert): string {
  const [shortTitle, shortText] = [oneLine(title, LONGEST_TITLE), oneLine(text, LONGEST_TEXT)];
  return JSON.stringify({
    source: "agentcards",
    kind,
    subject: oneLine(subject, LONGEST_TITLE),
    title: shortTitle,
    detail: shortText,
    text: `${shortTitle}\n${shortText}`,
    at: new Date().toISOString(),
  });
}

/** Runs the program as it is configured: no shell, no text of the alert among its arguments, no environment. */
async function pipeTo({ command, args = [] }: CommandChannel, body: string): Promise<void> {
  const child = new Command(command, {
    args: [...args],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
    clearEnv: true,
    env: { PATH: SYSTEM_PATH },
    cwd: "/",
  }).spawn();
  const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  try {
    const writer = child.stdin.getWriter();
    // A program that does not read ends all the same.
    await writer.write(new TextEncoder().encode(`${body}\n`)).then(() => writer.close()).catch(() => {});
    const { code } = await child.status;
    if (code !== 0) throw new Error(`the program ended with exit code ${code}`);
  } finally {
    clearTimeout(late);
  }
}

/** Posts to exactly this address: a redirect would lead to one that nobody configured. */
async function post({ url, headers = {} }: WebhookChannel, body: string): Promise<void> {
  const address = safeAddress(url);
  const response = await untraced(() =>
    fetch(address, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
      redirect: "error",
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
  );
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the address answered with status ${response.status}`);
}

const LOOPBACK = /^(?:localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/;

/** An address that alerts may be posted to: https, or this machine itself. */
function safeAddress(url: string): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address?.protocol === "https:" || address?.protocol === "http:" && LOOPBACK.test(address.hostname)) {
    return address;
  }
  throw new AgentCardsError("CONFIG_INVALID", "The address of the channel is neither https nor on this machine");
}
