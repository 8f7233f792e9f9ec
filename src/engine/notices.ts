import type { OpenApprovals } from "../call/mod.ts";
import { type ConfigFile, fillVariables, type Home, readConfigFile, storedSecrets } from "../config/mod.ts";
import type { RunEvent, RunRow } from "../dag/mod.ts";
import { isObject } from "../model/mod.ts";
import { type Alert, type AlertSettings, type Channel, createAlerts } from "../notify/mod.ts";
import { unrefTimer } from "../platform/start.ts";
import type { WithheldEntry } from "../policy/mod.ts";
import { log } from "../telemetry/mod.ts";

/** A person who looks at the dialogue answers it within this time. */
const DIALOGUE_MS = 20_000;

/** The events of an engine that a person hears of. */
export interface Notices {
  /** Takes the desktop's address out of the environment of a session. */
  learn(env: Readonly<Record<string, string>>): void;
  tell(alert: Alert): void;
  quarantined(server: string, entries: readonly WithheldEntry[]): void;
  run(id: string, event: RunEvent): void;
  rolledBack(id: string): void;
  /** A run of another engine that shares the database. */
  elsewhere(run: RunRow): void;
  /** The same approvals; one whose dialogue stays open for a while is told. */
  noticed(approvals: OpenApprovals): OpenApprovals;
}

export function createNotices(home: Home): Notices {
  const { tell, learn } = createAlerts({ settings: () => settingsOf(home) });

  function waits(id: string, reason: string, tool: string | undefined): void {
    const text = reason === "in_doubt"
      ? `It is not known whether ${tool ?? "a call"} happened. Decide with: agentcards runs show ${id}`
      : `${tool ?? "A task"} waits for your approval: agentcards approve ${id}`;
    tell({ kind: "act", subject: id, title: "A workflow waits for you", text });
  }

  return {
    learn,
    tell,
    quarantined(server, entries) {
      const names = entries.map(({ kind, name }) => kind === "instructions" ? "its instructions" : name).join(", ");
      tell({
        kind: "act",
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
    rolledBack(id) {
      tell({
        kind: "act",
        subject: `check ${id}`,
        title: "The check of a workflow failed",
        text: `What became of its files: agentcards runs show ${id}`,
      });
    },
    noticed: (approvals) => ({
      ...approvals,
      async open(call) {
        const waiting = await approvals.open(call);
        const timer = setTimeout(() => {
          tell({
            kind: "act",
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

/** The settings of the file as it is now, with variables filled in. A channel whose variable is not set is left out. */
async function settingsOf(home: Home): Promise<AlertSettings> {
  const { notify = {} }: ConfigFile = await readConfigFile(home.config);
  const { desktop = true, notes = false, channels = {} } = notify;
  const needsSecrets = Object.values(channels).some((channel) => "url" in channel);
  const secrets = needsSecrets ? await storedSecrets(home) : {};
  const filled = Object.entries(channels).flatMap(([name, { for: chosen, ...entry }]) => {
    const kinds: readonly Alert["kind"][] = chosen ?? ["act"];
    const { channel, missing } = "command" in entry ? { channel: entry, missing: [] } : filledIn(entry, secrets);
    if (missing.length === 0) return [[name, { channel, kinds }] as const];
    log("warning", "alert_not_sent", { channel: name, reason: `${missing.join(", ")} is not in secrets.env` });
    return [];
  });
  return { desktop, notes, channels: Object.fromEntries(filled) };
}

type Webhook = Extract<Channel, { url: string }>;

function filledIn({ url, headers = {} }: Webhook, secrets: Readonly<Record<string, string>>) {
  const missing: string[] = [];
  const fill = (text: string) => {
    const found = fillVariables(text, secrets);
    missing.push(...found.missing);
    return found.filled;
  };
  const filled = Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, fill(text)]));
  return { channel: { url: fill(url), headers: filled }, missing };
}
