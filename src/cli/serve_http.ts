import { ensureHome, type Home, locateHome } from "../config/mod.ts";
import type { Gateway } from "../control/mod.ts";
import { takeLock } from "../db/mod.ts";
import { homeInUse } from "../engine/mod.ts";
import { ownProgram, replaceFile } from "../platform/mod.ts";
import {
  channelPair,
  type ConnectEngine,
  connectEngine,
  MAX_CLIENT_FRAME,
  serveClient,
  serveHttp,
} from "../serve/mod.ts";
import { fs, system } from "../platform/start.ts";
import { createStandaloneGateway } from "./standalone.ts";
import type { Terminal } from "./screen/terminal.ts";
import { jsonLine } from "./json_out.ts";

export interface ServeHttpOptions {
  readonly port: number;
  readonly standalone?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** `agentcards serve --http`: the same tools for clients that speak HTTP, on this machine only. */
export async function serveOverHttp(options: ServeHttpOptions, terminal: Terminal): Promise<number> {
  const env = system.env();
  const home = locateHome(env);
  await ensureHome(home);
  await using lock = options.standalone ? await takeLock(home.lock) : undefined;
  if (options.standalone && !lock) throw await homeInUse(home);
  await using gateway = options.standalone ? await createStandaloneGateway(home) : undefined;
  const context = { cwd: system.cwd(), env };
  const program = ownProgram();
  const connect: ConnectEngine = gateway
    ? (isCrowd) => Promise.resolve(connectHere(gateway, { ...context, isCrowd }))
    : (isCrowd, connection) =>
      connectEngine({ home, kind: "mcp", ...context, program, tellsRelated: true, isCrowd, connection });

  const stopping = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) system.addSignalListener(signal, stopping.resolve);
  const token = await readToken(home);
  const endpoint = await serveHttp({
    port: options.port,
    token,
    connect,
    onError: (what) => terminal.err(`${what}\n`),
  });
  if (options.json) {
    terminal.out(jsonLine({ url: endpoint.url, token_file: home.httpToken, pid: system.pid }));
  } else terminal.err(welcome(endpoint.url, home));
  await stopping.promise;
  await endpoint.close();
  return 0;
}

/** A connection to the engine in this very process. */
function connectHere(
  gateway: Gateway,
  { isCrowd, ...context }: { cwd: string; env: Record<string, string>; isCrowd: boolean },
) {
  const [ours, theirs] = channelPair(MAX_CLIENT_FRAME);
  const session = gateway.openSession({ ...context, hasFolder: false });
  session.catch(() => {});
  void serveClient(theirs, session, { tellsRelated: true, isCrowd })
    .finally(() => session.then((open) => gateway.closeSession(open)).catch(() => {}));
  return { channel: ours, pid: system.pid };
}

/** The secret that clients must know; made once, readable for its owner only. */
async function readToken(home: Home): Promise<string> {
  const kept = await fs.readTextFile(home.httpToken).catch(() => "");
  if (/^\S{32,}$/.test(kept.trim())) return kept.trim();
  const token = crypto.getRandomValues(new Uint8Array(32)).toHex();
  await replaceFile(home.httpToken, `${token}\n`, { mode: 0o600 });
  return token;
}

function welcome(url: string, home: Home): string {
  return `AgentCards answers at ${url}
Clients need the token in ${home.httpToken}, for example:
  claude mcp add --transport http agentcards ${url} --header "Authorization: Bearer $(cat ${home.httpToken})"
`;
}
