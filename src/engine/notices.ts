import type { OpenApprovals } from "../call/mod.ts";
import { type Home, readConfigFile } from "../config/mod.ts";
import type { RunEvent, RunRow } from "../dag/mod.ts";
import { isObject } from "../model/mod.ts";
import { createNotifier, type Notifier } from "../notify/mod.ts";
import { unrefTimer } from "../platform/start.ts";
import type { WithheldEntry } from "../policy/mod.ts";

/** A person who looks at the dialogue answers it within this time. */
const DIALOGUE_MS = 20_000;

/** The events of an engine that a person hears of on the desktop. */
export interface Notices {
  readonly learn: Notifier["learn"];
  quarantined(server: string, entries: readonly WithheldEntry[]): void;
  run(id: string, event: RunEvent): void;
  /** A run of another engine that shares the database. */
  elsewhere(run: RunRow): void;
  /** The same approvals; one whose dialogue stays open for a while is told. */
  noticed(approvals: OpenApprovals): OpenApprovals;
}

export function createNotices(home: Pick<Home, "config">): Notices {
  const { tell, learn } = createNotifier({
    isWanted: async () => (await readConfigFile(home.config)).notify?.desktop ?? true,
  });
  function waits(id: string, reason: string, tool: string | undefined): void {
    const text = reason === "in_doubt"
      ? `It is not known whether ${tool ?? "a call"} happened. Decide with: agentcards runs show ${id}`
      : `${tool ?? "A task"} waits for your approval: agentcards approve ${id}`;
    tell({ subject: id, title: "A workflow waits for you", text });
  }

  return {
    learn,
    quarantined(server, entries) {
      const names = entries.map(({ kind, name }) => kind === "instructions" ? "its instructions" : name).join(", ");
      tell({
        subject: `review ${server}`,
        title: `${server} changed what its tools say`,
        text: `Withheld: ${names}. Look at them with: agentcards review ${server}`,
      });
    },
    run(id, event) {
      if (event.kind !== "paused" || event.pending.for !== "human") return;
      const { reason, calls } = event.pending;
      waits(id, reason, calls[0]?.tool);
    },
    elsewhere({ id, summary: { pending } }) {
      if (!isObject(pending) || pending.for !== "human") return;
      waits(id, String(pending.reason), typeof pending.tool === "string" ? pending.tool : undefined);
    },
    noticed: (approvals) => ({
      ...approvals,
      async open(call) {
        const waiting = await approvals.open(call);
        const timer = setTimeout(() => {
          tell({
            subject: waiting.id,
            title: `${call.tool} waits for your approval`,
            text: `In the client's dialogue, or with: agentcards approve ${waiting.id}`,
          });
        }, DIALOGUE_MS);
        unrefTimer(timer as unknown as number);
        return {
          id: waiting.id,
          decided: waiting.decided,
          over: waiting.over,
          [Symbol.dispose]() {
            clearTimeout(timer);
            waiting[Symbol.dispose]();
          },
        };
      },
    }),
  };
}
