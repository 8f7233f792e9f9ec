import { ensureHome, type Home, locateHome } from "../../config/mod.ts";
import { openControl } from "../../control/mod.ts";
import { AgentCardsError } from "../../model/mod.ts";
import { openOwnPage, ownProgram, replaceFile } from "../../platform/mod.ts";
import { fs, stdio, system } from "../../platform/start.ts";
import { type Dashboard, serveDashboard } from "../../web/mod.ts";
import { placeOf } from "../http_place.ts";
import { canAskHere } from "../prompts/approval.ts";
import type { Terminal } from "../screen/terminal.ts";

export interface DashboardCommand {
  readonly open: boolean;
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  readonly name?: readonly string[] | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

const PORT = 8765;
/** The page that opens the dashboard is removed after so long: its code is old by then. */
const PAGE_MS = 60_000;

/** `agentcards dashboard`: serves the page until it is interrupted. */
export async function dashboard({ open, ...options }: DashboardCommand, terminal: Terminal): Promise<number> {
  if (!canAskHere()) {
    throw new AgentCardsError("USAGE", "The dashboard decides for you, so it is started by a human at a terminal", {
      hint: "Run `agentcards dashboard` in a terminal of your own.",
    });
  }
  const env = system.env();
  const home = locateHome(env);
  await ensureHome(home);
  const served = await serve({ home, env, options, terminal });
  const stopping = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) system.addSignalListener(signal, stopping.resolve);
  terminal.out(`The dashboard is at ${served.url}\n`);
  const isOpened = open && options.host === undefined && await openInBrowser(home, served, terminal);
  terminal.out(
    `${isOpened ? "Your browser shows it. " : "Open it in a browser. "}A page that shows six digits: type them here. ` +
      "Ctrl-C ends the dashboard; the engine goes on.\n",
  );
  void readDigits(served, terminal);
  await stopping.promise;
  await served.close();
  return 0;
}

interface Serving {
  readonly home: Home;
  readonly env: Readonly<Record<string, string>>;
  readonly options: Omit<DashboardCommand, "open">;
  readonly terminal: Terminal;
}

/** Listens on the port that was asked for, or on the usual one and, where that is taken, on any. */
async function serve({ home, env, options, terminal }: Serving): Promise<Dashboard> {
  const cwd = system.cwd();
  const program = ownProgram();
  const start = async (port: number) =>
    await serveDashboard({
      ...await placeOf({ ...options, port }),
      home,
      connect: () => openControl({ home, cwd, env, program }),
      onError: (what) => terminal.err(`${what}\n`),
    });
  if (options.port !== undefined) return await start(options.port);
  return await start(PORT).catch(() => start(0));
}

/** Opens a page of the home that only its owner can read, and that brings a code along: none stands on a command line. */
async function openInBrowser(home: Home, { url, admission }: Dashboard, terminal: Terminal): Promise<boolean> {
  await fs.mkdir(home.run, { recursive: true, mode: 0o700 });
  const path = `${home.run}/dashboard-${crypto.randomUUID()}.html`;
  await replaceFile(path, pageTo(`${url}#code=${admission.newCode()}`), { mode: 0o600 });
  setTimeout(() => void fs.remove(path).catch(() => {}), PAGE_MS);
  system.addSignalListener("SIGINT", () => fs.remove(path).catch(() => {}));
  const isOpened = await openOwnPage(path);
  if (!isOpened) terminal.err("No browser could be opened.\n");
  return isOpened;
}

function pageTo(address: string): string {
  return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${address}"><title>AgentCards</title><p>Opening the dashboard …</p>
`;
}

/** Lets pages in whose digits are typed. */
async function readDigits({ admission }: Dashboard, terminal: Terminal): Promise<void> {
  const lines = stdio.stdin.readable.pipeThrough(new TextDecoderStream());
  let typed = "";
  for await (const text of lines) {
    typed += text;
    for (let end = typed.search(/[\r\n]/); end >= 0; end = typed.search(/[\r\n]/)) {
      const digits = typed.slice(0, end).replaceAll(/\s/g, "");
      typed = typed.slice(end + 1);
      if (digits === "") continue;
      terminal.out(
        admission.confirm(digits)
          ? "The page is let in.\n"
          : "No page shows these digits. Reload the page for new ones.\n",
      );
    }
  }
}
