import type { Session } from "../call/mod.ts";
import { listPrompts } from "../workflow/mod.ts";
import { directTools, offered } from "./exposure.ts";
import type { Watching } from "./subscriptions.ts";

type Message = Record<string, unknown>;

export interface ListContext {
  readonly session: Session;
  readonly watching: Watching;
}

/** The one request in the name of which an older client watches resources. */
export const OLDER_CLIENT = Symbol("an older client");

/** Answers what a client asks about all servers at once; undefined: that is none of it. */
export async function answerList(
  method: string,
  params: Message,
  { session, watching }: ListContext,
): Promise<Message | undefined> {
  if (method === "tools/list") return { tools: await directTools(session) };
  if (!session.config.expose.resources) return undefined;
  switch (method) {
    case "resources/list":
      return { resources: await offered(session, "resources") };
    case "resources/templates/list":
      return { resourceTemplates: await offered(session, "templates") };
    case "prompts/list":
      return { prompts: [...await listPrompts(session), ...await offered(session, "prompts")] };
    case "resources/subscribe":
      for (const problem of await watching.add(OLDER_CLIENT, [String(params.uri)])) throw problem;
      return {};
    case "resources/unsubscribe":
      await watching.drop(OLDER_CLIENT, String(params.uri));
      return {};
  }
}
