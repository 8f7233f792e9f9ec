import type { Config } from "../config/schema.ts";
import { matchesPattern } from "../model/pattern.ts";
import type { Effect, Tool } from "../model/tool.ts";

const DANGER: Readonly<Record<Effect, number>> = { read: 0, idempotent: 1, effectful: 2 };

/** The more dangerous of two. */
export function worse(a: Effect, b: Effect): Effect {
  return DANGER[a] >= DANGER[b] ? a : b;
}

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

const READS = new Set(
  ("get list read search find fetch describe show view count query lookup check inspect explain browse preview " +
    "retrieve status validate compare diff tail head stat whoami ping").split(" "),
);
const ACTS = new Set(
  ("create add insert write edit update modify patch delete remove drop destroy purge clear reset send post publish " +
    "reply comment upload move rename copy merge push commit deploy run execute start stop restart kill cancel approve " +
    "reject invite grant revoke buy pay order book transfer submit trigger schedule click fill type press drag save " +
    "import restore rotate enable disable assign close open merge fork star subscribe unsubscribe").split(" "),
);

/** What the words of a name promise: one that acts outweighs one that reads, wherever it stands. */
function namedEffect(name: string): Effect | undefined {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z0-9]+/).filter(Boolean);
  if (words.some((word) => ACTS.has(word))) return "effectful";
  return words.some((word) => READS.has(word)) ? "read" : undefined;
}
