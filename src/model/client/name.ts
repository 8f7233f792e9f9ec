import { AgentCardsError } from "../errors.ts";

/** What a client is called in `servers.NAME.clients` and by `serve --client`. */
export const CLIENT_NAME = /^[a-z0-9][a-z0-9_.-]{0,63}$/;

/** The name of a client, checked; a wrong one would see less without a word. */
export function clientName(name: string | undefined): string | undefined {
  if (name === undefined || CLIENT_NAME.test(name)) return name;
  throw new AgentCardsError("USAGE", `Cannot serve the client "${name}": this is no name of a client`, {
    hint: "A name is like claude-code or cursor: small letters, digits, _ . or -.",
  });
}
