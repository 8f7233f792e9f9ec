import { ensureHome, type Home, locateHome } from "../config/mod.ts";
import type { Gateway } from "../control/mod.ts";
import { takeLock } from "../db/mod.ts";
import { homeInUse } from "../engine/mod.ts";
import { ownProgram } from "../platform/mod.ts";
import {
  channelPair,
  type ConnectEngine,
  connectEngine,
  MAX_CLIENT_FRAME,
  serveClient,
  serveHttp,
} from "../serve/mod.ts";
import { system } from "../platform/start.ts";
import { createStandaloneGateway } from "./standalone.ts";
import { httpToken, placeOf, type PlaceOptions } from "./http_place.ts";
import type { Terminal } from "./screen/terminal.ts";
import { jsonLine } from "./json_out.ts";

export interface ServeHttpOptions extends PlaceOptions {
  readonly standalone?: boolean | undefined;
  /** The client that all who come are taken for. */
  readonly client?: string | undefined;
  readonly json?: boolean | undefined;
}

/** `agentcards serve --http`: the same tools for clients that speak HTTP, on this machine unless told otherwise. */
export async function serveOverHttp(options: ServeHttpOptions, terminal: Terminal): Promise<number> {
  const place = await placeOf(options);
  const env = system.env();
  const home = locateHome(env);
  await ensureHome(home);
  await using lock = options.standalone ? await takeLock(home.lock) : undefined;
  if (options.standalone && !lock) throw await homeInUse(home);
  await using gateway = options.standalone ? await createStandaloneGateway(home) : undefined;
  const context = { cwd: system.cwd(), env, client: options.client };
  const program = ownProgram();
  const connect: ConnectEngine = gateway
    ? (isCrowd) => Promise.resolve(connectHere(gateway, { ...context, isCrowd }))
    : (isCrowd, connection) =>
      connectEngine({ home, kind: "mcp", ...context, program, tellsRelated: true, isCrowd, connection });

  const stopping = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) system.addSignalListener(signal, stopping.resolve);
  const token = await httpToken(home, place);
  const endpoint = await serveHttp({
    ...place,
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
  { isCrowd, client, ...context }: {
    cwd: string;
    env: Record<string, string>;
    isCrowd: boolean;
    client?: string | undefined;
  },
) {
  const [ours, theirs] = channelPair(MAX_CLIENT_FRAME);
  const session = gateway.openSession({ ...context, viewer: { client }, hasFolder: false });
  session.catch(() => {});
  void serveClient(theirs, session, { tellsRelated: true, isCrowd })
    .finally(() => session.then((open) => gateway.closeSession(open)).catch(() => {}));
  return { channel: ours, pid: system.pid };
}

function welcome(url: string, home: Home): string {
  return `AgentCards answers at ${url}
Clients need the token in ${home.httpToken}, for example:
  claude mcp add --transport http agentcards ${url} --header "Authorization: Bearer $(cat ${home.httpToken})"
`;
}
