import type { Config } from "../config/mod.ts";
import { type Effect, matchesPattern, type Tool, worse } from "../model/mod.ts";

/** The configuration's word; else the more dangerous of what the server says and what the name says; else effectful. */
export function effectOf(
  policy: Pick<Config["policy"], "effects">,
  tool: Pick<Tool, "id" | "name" | "annotations">,
): Effect {
  const configured = configuredEffect(policy, tool.id);
  if (configured) return configured;
  const [annotated, named] = [annotatedEffect(tool.annotations), namedEffect(tool.name)];
  if (annotated && named) return worse(annotated, named);
  return annotated ?? named ?? "effectful";
}

/** Of several patterns that fit, the longest counts: it is the one that was meant for this tool. */
function configuredEffect({ effects }: Pick<Config["policy"], "effects">, id: string): Effect | undefined {
  const fitting = Object.entries(effects).filter(([pattern]) => matchesPattern(pattern, id));
  return fitting.sort(([a], [b]) => b.length - a.length)[0]?.[1];
}

function annotatedEffect(annotations: Tool["annotations"]): Effect | undefined {
  if (!annotations) return undefined;
  if (annotations.destructiveHint === true) return "effectful";
  if (annotations.readOnlyHint === true) return "read";
  if (annotations.idempotentHint === true) return "idempotent";
  return annotations.readOnlyHint === false ? "effectful" : undefined;
}

/** Words that say that something is read, wherever they stand in a name, and those that say so only where they lead. */
const READS = new Set("get list read search find fetch describe show retrieve lookup".split(" "));
const READS_FIRST = new Set(
  ("view count query check inspect explain browse preview status validate compare diff tail head stat whoami ping")
    .split(
      " ",
    ),
);
const ACTS = new Set(
  ("create add insert write edit update modify patch delete remove drop destroy purge clear reset send post publish " +
    "reply comment upload move rename copy merge push commit deploy run execute start stop restart kill cancel approve " +
    "reject invite grant revoke buy pay order book transfer submit trigger schedule click fill type press drag save " +
    "import restore rotate enable disable assign close open fork star subscribe unsubscribe set put mark toggle replace " +
    "install uninstall apply archive unarchive lock unlock sign make change switch out checkout upsert append attach " +
    "detach link unlink join leave mute ban block scale rollback revert abort resume pause do perform process sync " +
    "exec eval sudo shutdown reboot use claim ack acknowledge dismiss resolve reopen tag untag pin unpin react vote")
    .split(
      " ",
    ),
);

/** Words that act when they lead, and are what it is about behind a verb that reads: `get_order_details`. */
const ALSO_THINGS = new Set(
  ("order book post comment copy commit patch push merge run start stop schedule trigger transfer pay reply move fork " +
    "star type press fill open close import link tag lock sign archive process change set block claim vote pin").split(
      " ",
    ),
);
const LEADS_TO_A_THING = new Set("get list read search find describe show view retrieve".split(" "));
const JOINS = new Set(["and", "or", "then"]);

/** The effect that the words of a name suggest: an acting word outweighs a reading one, wherever it stands. */
function namedEffect(name: string): Effect | undefined {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z0-9]+/).filter(Boolean);
  if (words.some((word, i) => ACTS.has(word) && !isThing(words, i))) return "effectful";
  return words.some((word, i) => READS.has(word) || (i === 0 && READS_FIRST.has(word))) ? "read" : undefined;
}

function isThing(words: readonly string[], at: number): boolean {
  if (!ALSO_THINGS.has(words[at]!)) return false;
  const before = words.slice(0, at);
  return before.some((word) => LEADS_TO_A_THING.has(word)) && !before.some((word) => JOINS.has(word));
}
