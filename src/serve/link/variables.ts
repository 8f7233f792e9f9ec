import { variablesNamed } from "../../config/start.ts";
import { AgentCardsError, isObject, TOO_LONG, within } from "../../model/start.ts";
import type { Channel, Line } from "./channel.ts";

type Variables = Readonly<Record<string, string>>;

/** The engine's question for variables, by name. The key proves that an answer is no frame of the client's own. */
interface VariablesQuestion {
  readonly names: readonly string[];
  readonly key: string;
}

interface VariablesAnswer {
  readonly variables: Variables;
  readonly key: string;
}

const ANSWER_MS = 30_000;
/** No other line begins so: JSON-RPC frames begin with `jsonrpc`, those of the command line with `id`. */
const MARK = new TextEncoder().encode('{"agentcards":');

/** The client's side: answers the engine's questions from the environment, and passes on all other lines. */
export function answeringVariables(channel: Channel, env: Variables): Channel {
  return {
    ...channel,
    read: (onLine) =>
      channel.read((line) => {
        const asked = ownLine(line);
        if (!isQuestion(asked)) return onLine(line);
        const answer: VariablesAnswer = { variables: variablesNamed(asked.names, env), key: asked.key };
        channel.write(JSON.stringify({ agentcards: answer }));
      }),
  };
}

/** The engine's side: a channel without the answers, and a function that asks. */
export function askingVariables(channel: Channel): {
  readonly channel: Channel;
  ask(names: readonly string[]): Promise<Variables>;
} {
  const open = new Map<string, PromiseWithResolvers<Variables>>();
  const gone = () => new AgentCardsError("CANCELLED", "The client left before it told its variables");
  let toClient: ((line: Line) => void) | undefined;

  /** Reads for the client; while a question is open, its answer is taken out. */
  function read(): Promise<void> {
    const onLine = toClient!;
    return channel.read(
      open.size === 0 ? onLine : (line) => {
        const said = ownLine(line);
        const waiter = isAnswer(said) ? open.get(said.key) : undefined;
        if (waiter) waiter.resolve((said as VariablesAnswer).variables);
        else onLine(line);
      },
    );
  }

  return {
    channel: {
      ...channel,
      async read(onLine) {
        toClient = onLine;
        await read();
        for (const waiter of open.values()) waiter.reject(gone());
      },
    },
    async ask(names) {
      if (names.length === 0) return {};
      const key = crypto.randomUUID();
      const waiter = Promise.withResolvers<Variables>();
      open.set(key, waiter);
      if (toClient) void read();
      channel.write(JSON.stringify({ agentcards: { names, key } satisfies VariablesQuestion }));
      return await within(waiter.promise, ANSWER_MS, "the client does not tell its variables")
        .finally(() => {
          open.delete(key);
          if (open.size === 0 && toClient) void read();
        });
    },
  };
}

/** The content of a line between client and engine that belongs to no protocol of theirs. */
function ownLine(line: Line): unknown {
  if (line === TOO_LONG || line[2] !== MARK[2] || !MARK.every((byte, index) => line[index] === byte)) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(line)).agentcards;
  } catch {
    return undefined;
  }
}

function isQuestion(value: unknown): value is VariablesQuestion {
  return isObject(value) && typeof value.key === "string" && Array.isArray(value.names) &&
    value.names.every((name) => typeof name === "string");
}

function isAnswer(value: unknown): value is VariablesAnswer {
  return isObject(value) && typeof value.key === "string" && isObject(value.variables) &&
    Object.values(value.variables).every((text) => typeof text === "string");
}
