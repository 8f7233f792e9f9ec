import {
  type CarriedRule,
  claudeSettings,
  type Machine,
  type Move,
  type Permissions,
  programOf,
  readPermissions,
  type ServerEntry,
  type Source,
} from "../../config/mod.ts";
import { isObject } from "../../model/mod.ts";

type Servers = Readonly<Record<string, ServerEntry>>;

interface Involved {
  readonly moves: readonly Move[];
  readonly sources: readonly Source[];
  /** The servers that our files have already. */
  readonly known: Readonly<Record<Move["target"], Servers>>;
}

/**
 * Claude's rules and hooks about the servers that leave it. Its rules about a server that stays hold for the entries of
 * ours that start the same program: without them the agent could call there what is denied to it here.
 */
export async function permissionsOf({ moves, sources, known }: Involved, machine: Machine): Promise<Permissions> {
  const origins = moves.flatMap(({ name, origins }) =>
    origins.filter(({ source, leaves }) => source.client === "claude-code" && leaves)
      .map((origin) => ({ ...origin, ours: name }))
  );
  const moved = Object.fromEntries(moves.map(({ name, server }) => [name, server]));
  const ours = { ...known.global, ...known.project, ...moved };
  const staying = sources.filter(({ client }) => client === "claude-code").flatMap((source) =>
    source.servers.filter(({ name }) => !origins.some((origin) => origin.source === source && origin.name === name))
  );
  const twins = staying.flatMap(({ name, entry, server }) =>
    sameProgram(server ? programOf(server) : programIn(entry), ours).map((twin) => [name, twin] as const)
  );
  const paths = claudeSettings(machine);
  const own = await readPermissions(paths, origins.map(({ name, ours }) => [name, ours] as const));
  // A folder that somebody else made must not open anything: only what the user's own file allows is carried over.
  const said = own.rules.map((rule) =>
    rule.list === "allow" && rule.path !== paths[0] ? { ...rule, pattern: undefined } : rule
  );
  const { rules } = await readPermissions(paths, twins);
  const listed = listedRules({ moves, sources }, ours);
  // The rest of what Claude says about a server that stays keeps its meaning there.
  // Two entries of one program are two accounts: what was allowed to the one is not allowed to the other.
  const tightening = rules.filter(({ list, pattern }) => list !== "allow" && pattern !== undefined);
  return { ...own, rules: [...said, ...tightening, ...listed] };
}

/** The same for tools that an entry itself denies or asks about, in a client that it stays in. */
function listedRules({ moves, sources }: Pick<Involved, "moves" | "sources">, ours: Servers): CarriedRule[] {
  const origins = moves.flatMap((move) => move.origins);
  return sources.flatMap((source) =>
    source.servers.filter(({ name }) => !origins.some((origin) => origin.source === source && origin.name === name))
      .flatMap(({ name, entry, server, deny, approve }) => {
        const rule = (list: "deny" | "ask", twin: string) => (tool: string): CarriedRule => {
          return { path: source.path, list, rule: `${name}:${tool}`, server: twin, pattern: `${twin}:${tool}` };
        };
        return sameProgram(server ? programOf(server) : programIn(entry), ours).flatMap((twin) => [
          ...deny.map(rule("deny", twin)),
          ...approve.map(rule("ask", twin)),
        ]);
      })
  );
}

/** The program of an entry that was not taken over, as its client writes it. */
function programIn(entry: unknown): string | undefined {
  const { command, args, cwd, ...rest } = isObject(entry) ? entry : {};
  const url = rest.httpUrl ?? rest.serverUrl ?? rest.url;
  if (typeof url === "string") return programOf({ url });
  if (typeof command !== "string") return undefined;
  const words = Array.isArray(args) ? args.filter((arg) => typeof arg === "string") : [];
  return programOf({ command, args: words, ...typeof cwd === "string" && { cwd } });
}

function sameProgram(program: string | undefined, servers: Servers): string[] {
  return Object.keys(servers).filter((name) => programOf(servers[name]!) === program);
}

/** Patterns once some servers stay in their client: theirs become those of the entries that start the same program. */
export function carriedOver(patterns: readonly string[], kept: Servers, left: Servers): string[] {
  return [
    ...new Set(patterns.flatMap((pattern) => {
      const name = pattern.slice(0, pattern.indexOf(":"));
      if (!Object.hasOwn(kept, name)) return [pattern];
      return sameProgram(programOf(kept[name]!), left).map((twin) => twin + pattern.slice(name.length));
    })),
  ];
}
