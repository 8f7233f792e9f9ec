import type { Method } from "../context.ts";

export const hooks: Method<"hooks"> = async ({ session }, { limit = 20 }) => {
  const { shared, promptHints } = await session;
  const { log } = shared.hooks;
  await log.flush();
  return { figures: await log.figures(), hints: await promptHints.status(), events: await log.newest(limit) };
};
