import { requireServer } from "../../config/mod.ts";
import { messageOf } from "../../model/mod.ts";
import { diffDefinitions, type ServerReview } from "../../policy/mod.ts";
import { log } from "../../telemetry/mod.ts";
import type { Method } from "../context.ts";
import type { ReviewReport } from "../reports.ts";

/** Definitions that changed, or that came after a server was pinned, with their differences. */
export const review: Method<"review"> = async ({ gateway }, { server }) => {
  const { pins } = gateway;
  const found = await pins.review(server);
  return { problem: pins.problem() ?? null, servers: found.map(reportOf) };
};

function reportOf({ items, ...review }: ServerReview): ReviewReport {
  return {
    ...review,
    items: items.map(({ before, after, ...item }) => ({
      ...item,
      isTooLarge: after === null,
      diff: diffDefinitions(before, after),
    })),
  };
}

/** A person's yes to what a review showed: from the next look on, agents get these definitions. */
export const reviewAccept: Method<"review_accept"> = async ({ gateway, session, signal }, { server, folder, hash }) => {
  const accepted = await gateway.pins.accept({ server, folder: folder ?? null, hash });
  const concerned = [...gateway.sessions].filter(({ isUsable, config }) => isUsable && isEntry(config.servers, server));
  const open = await session;
  const looking = concerned.length > 0 || !isEntry(open.config.servers, server) ? concerned : [open];
  await Promise.all(looking.map(async (one) => {
    try {
      requireServer(one.config, server);
      await one.server(server).look(AbortSignal.any([signal, AbortSignal.timeout(LOOK_PATIENCE_MS)]));
      for (const list of ["tools", "prompts", "resources"] as const) {
        one.client.tell(server, { kind: "list_changed", list });
      }
    } catch (error) {
      // The next look of a server that cannot be started just now finds what was accepted.
      log("info", "look_failed", { server, reason: messageOf(error) });
    }
  }));
  return { accepted };
};

const LOOK_PATIENCE_MS = 10_000;

function isEntry(
  servers: Readonly<Record<string, { readonly disabled?: boolean | undefined }>>,
  name: string,
): boolean {
  return Object.hasOwn(servers, name) && !servers[name]!.disabled;
}
