import { databaseAddress, hasPlainPassword, locateHome, readConfigFile, setDatabase } from "../../config/mod.ts";
import { type MovedTable, takeLock } from "../../db/mod.ts";
import { AgentCardsError } from "../../model/mod.ts";
import { stopEngine } from "../engine.ts";
import { userInfo } from "node:os";
import { table } from "../screen/table.ts";
import { painter, type Terminal } from "../screen/terminal.ts";

const OWN = "pglite";

/** `agentcards migrate --to postgres://… | --to pglite` */
export async function migrate(to: string, terminal: Terminal): Promise<number> {
  const home = locateHome();
  const { database: from, engine: settings } = await readConfigFile(home.config);
  const isBack = to === OWN;
  if (isBack && from === undefined) throw new AgentCardsError("USAGE", "The database is in the home already");
  if (!isBack && from !== undefined) {
    throw new AgentCardsError("USAGE", "The database is on a server already", {
      hint: "Move it back first: `agentcards migrate --to pglite`.",
    });
  }
  const text = isBack ? from! : to;
  if (!isBack) requireHidden(text);
  const { url } = await databaseAddress(home, text);
  await stopEngine({}, { ...terminal, out: () => {} });
  await using lock = await takeLock(home.lock);
  if (!lock) {
    throw new AgentCardsError("ENGINE_BUSY", "Another engine started meanwhile", {
      hint: "Close your clients and try again.",
    });
  }
  const { engineIdentity } =
    await (import("../../engine/identity.ts" as string) as Promise<typeof import("../../engine/identity.ts")>);
  const engine = { ...await engineIdentity(home), owner: settings?.owner ?? userInfo().username };
  const { moveHome } =
    await (import("../../db/move_home.ts" as string) as Promise<typeof import("../../db/move_home.ts")>);
  const { moved, kept } = await moveHome(home, { url, isBack, engine });
  await setDatabase(home.config, isBack ? undefined : text);
  terminal.out(movedText(moved, terminal));
  terminal.out(
    isBack
      ? `The database is in ${home.dir} again; the one on the server is as it was.\n`
      : `The database is on the server now. The one of before is in ${kept ?? home.data}, as it was.\n`,
  );
  if (isBack && kept !== undefined) terminal.out(`What lay in the home before is in ${kept}.\n`);
  return 0;
}

/** A command line is read by everybody on this machine. */
function requireHidden(text: string): void {
  if (!hasPlainPassword(text)) return;
  throw new AgentCardsError("USAGE", "The address has a password in it, which other users of this machine can read", {
    hint:
      "`agentcards secrets set DATABASE_PASSWORD` keeps it; write ${DATABASE_PASSWORD} in its place, in single quotes.",
  });
}

function movedText(moved: readonly MovedTable[], { color }: Terminal): string {
  const rows = moved.filter(({ rows }) => rows > 0).map((
    { name, rows, hash },
  ) => [name, String(rows), hash.slice(0, 16)]);
  if (rows.length === 0) return "There were no rows to move.\n";
  return table([["table", "rows", "hash on both sides"], ...rows], (text) => painter(color)("bold", text));
}
