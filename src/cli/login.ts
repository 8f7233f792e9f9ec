import {
  ensureHome,
  type Home,
  loadConfig,
  locateHome,
  requireServer,
  type ResolvedServer,
  resolveServer,
  storedSecrets,
} from "../config/mod.ts";
import { canSignIn, openTokenFile, signIn, signInByDevice, signOut, type TokenFile } from "../mcp/mod.ts";
import { AgentCardsError, describe, sanitise } from "../model/mod.ts";
import { openPage } from "../platform/mod.ts";
import { stdio, system } from "../platform/start.ts";
import { createInterface } from "node:readline";
import process from "node:process";
import { ask } from "./ask.ts";
import type { Terminal } from "./screen/terminal.ts";

export interface LoginOptions {
  /** Sign in by a code that is typed on any device. */
  readonly device?: boolean;
  /** False: open no browser. */
  readonly browser?: boolean;
}

/** `agentcards login SERVER`: signs in to a remote server, and lets go on what waits for that. */
export async function login(name: string, options: LoginOptions, terminal: Terminal): Promise<number> {
  const { server, file } = await find(name);
  if (!canSignIn(server)) {
    throw new AgentCardsError("USAGE", `Server "${name}" has a credential of its own in servers.${name}.headers`, {
      hint: "Take the Authorization header out to sign in instead.",
    });
  }
  const { signal } = new AbortController();
  if (options.device) {
    await signInByDevice(server, {
      file,
      signal,
      show: (code) => terminal.out(deviceText(name, code)),
    });
  } else await withBrowser(server, { file, terminal, isOpened: options.browser !== false });
  return await report(name, terminal);
}

/** `agentcards logout SERVER`: forgets the tokens of a server, and has them revoked where that is offered. */
export async function logout(name: string, terminal: Terminal): Promise<number> {
  const { server, file } = await find(name);
  const revoked = await signOut(server, file);
  const then = {
    revoked: "its tokens are revoked",
    "not offered": "its tokens are forgotten here; the server does not offer to revoke them",
    failed: "its tokens are forgotten here, but the server did not revoke them",
  };
  terminal.out(revoked ? `Signed out of ${name}: ${then[revoked]}.\n` : `You were not signed in to ${name}.\n`);
  return 0;
}

/** The server as this folder's configuration defines it, and the file of its tokens. */
async function find(name: string): Promise<{ server: ResolvedServer; file: TokenFile }> {
  const env = system.env();
  const home = locateHome(env);
  await ensureHome(home);
  const { config } = await loadConfig(home, system.cwd(), { env, viewer: "user" });
  const entry = requireServer(config, name);
  const variables = entry.origin === "global" ? { ...env, ...await storedSecrets(home) } : env;
  return { server: resolveServer(entry, variables, config.secrets), file: tokensOf(home) };
}

function tokensOf(home: Home): TokenFile {
  return openTokenFile({ path: home.tokens, locks: `${home.cache}/locks`, onSecrets() {} });
}

interface Browsing {
  readonly file: TokenFile;
  readonly terminal: Terminal;
  readonly isOpened: boolean;
}

async function withBrowser(server: ResolvedServer, { file, terminal, isOpened }: Browsing): Promise<void> {
  const { signal } = new AbortController();
  // A browser on another machine cannot come back to this one: its last address can be pasted.
  const isReading = !isOpened || stdio.stdin.isTerminal();
  let lines: ReturnType<typeof createInterface> | undefined;
  try {
    await signIn(server, {
      file,
      signal,
      async show(page, take) {
        terminal.out(`Sign in to ${server.name} at\n\n  ${page.href}\n\n`);
        const how = isOpened && await openPage(page) ? "It is open in your browser. " : "";
        terminal.out(`${how}Waiting for you to come back; Ctrl-C gives up.\n`);
        if (!isReading) return;
        terminal.out("If your browser is on another machine, paste the address here that it ends at.\n");
        lines = createInterface({ input: process.stdin });
        lines.on("line", (line) => {
          if (line.trim() !== "" && !take(line)) terminal.err("That is not the address that this sign-in ends at.\n");
        });
      },
    });
  } finally {
    lines?.close();
    process.stdin.unref?.();
  }
}

function deviceText(name: string, { code, page, whole }: { code: string; page: URL; whole?: URL }): string {
  const direct = whole ? `Or open ${whole.href}\n` : "";
  return `Sign in to ${name}: open\n\n  ${page.href}\n\nand type the code ${
    sanitise(code)
  }\n${direct}\nWaiting; Ctrl-C gives up.\n`;
}

async function report(server: string, terminal: Terminal): Promise<number> {
  try {
    const { tools, runs } = await ask({ method: "signed_in", params: { server } });
    terminal.out(`Signed in to ${server}: ${tools} ${tools === 1 ? "tool" : "tools"}.\n`);
    if (runs.length > 0) terminal.out(`Going on: ${runs.join(", ")}\n`);
    return 0;
  } catch (error) {
    terminal.err(`Signed in to ${server}, but it cannot be used:\n${sanitise(describe(error))}\n`);
    return 1;
  }
}
