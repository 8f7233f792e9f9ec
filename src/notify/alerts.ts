import { messageOf } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import { type Alert, createLimiter } from "./alert.ts";
import { type Channel, sendTo } from "./channels.ts";
import { createDesktop } from "./desktop.ts";

/** The way of alerts, as configured. */
export interface AlertSettings {
  readonly desktop: boolean;
  /** Notes are told as well, not only what a person has to do. */
  readonly notes: boolean;
  /** By the names of the configuration. */
  readonly channels: Readonly<Record<string, { readonly channel: Channel; readonly kinds: readonly Alert["kind"][] }>>;
}

export interface AlertOptions {
  /** The present settings; asked for with each alert. */
  settings(): Promise<AlertSettings>;
  readonly now?: () => number;
}

/** Tells a person by the desktop, and by the programs and addresses of the configuration. */
export interface Alerts {
  tell(alert: Alert): void;
  /** Takes the desktop's address out of the environment of a session. */
  learn(env: Readonly<Record<string, string>>): void;
}

/** Alerts that cannot be told cost nothing but a line in the log, which names the channel and no address. */
export function createAlerts({ settings, now = Date.now }: AlertOptions): Alerts {
  const desktop = createDesktop();
  // A flood of notes must not keep out what a person has to do.
  const isDue = { act: createLimiter(now), note: createLimiter(now) };

  async function told(alert: Alert): Promise<void> {
    const { desktop: isWanted, notes, channels } = await settings();
    if (isWanted && (alert.kind === "act" || notes)) desktop.show(alert);
    for (const [name, { channel, kinds }] of Object.entries(channels)) {
      if (!(alert.channels?.includes(name) ?? kinds.includes(alert.kind))) continue;
      sendTo(channel, alert).catch((error) =>
        log("warning", "alert_not_sent", { channel: name, reason: reasonOf(error) })
      );
    }
  }

  return {
    tell(alert) {
      if (!isDue[alert.kind](alert.subject)) return;
      told(alert).catch((error) => log("warning", "alert_not_sent", { reason: messageOf(error) }));
    },
    learn: desktop.learn,
  };
}

/** Errors of `fetch` quote the address, which may hold a secret. */
function reasonOf(error: unknown): string {
  return messageOf(error).replace(/https?:\/\/\S+/g, "the address");
}
