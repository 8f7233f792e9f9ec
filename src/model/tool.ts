import type { Json, JsonObject, Step } from "./json.ts";

/** One tool of one server, as the rest of the house knows it. */
export interface Tool {
  /** `server:name`: how agents and people address it. */
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
  /** What else its definition says: icons, meta data. */
  readonly more?: JsonObject;
  /** SHA-256 over the canonical JSON of the whole definition. */
  readonly hash: string;
}

/** What calling a tool does to the world: nothing, the same however often, or something each time. */
export type Effect = "read" | "idempotent" | "effectful";

/** What a result holds besides its value: content that is no text, meta data. */
export interface Beside {
  readonly content?: Json[];
  readonly meta?: JsonObject;
}

/** What a call gave: the value itself, or where a large one lies and how it begins. */
export type Output =
  & ({ readonly kind: "value"; readonly value: Json } | StoredOutput)
  /** What else there was: itself, or where it lies. */
  & { readonly beside?: Beside | { readonly handle: string } };

interface StoredOutput {
  readonly kind: "stored";
  readonly handle: string;
  /** Where in what is stored the value is. */
  readonly steps: readonly Step[];
  readonly shape: string;
  readonly preview: string;
}

/** A tool that could not be taken as it came, and what was done about it. */
export interface ToolNote {
  readonly tool: string;
  readonly why: string;
}

/** What a server offers, as last read from it. */
export interface Catalogue {
  readonly tools: readonly Tool[];
  readonly dropped: readonly ToolNote[];
  readonly repaired: readonly ToolNote[];
  readonly instructions?: string;
  readonly offers?: Offers;
}

/** What a server offers besides tools, as it says it. */
export interface Offers {
  readonly resources: readonly JsonObject[];
  readonly templates: readonly JsonObject[];
  readonly prompts: readonly JsonObject[];
}

/** Names the server side of an id may have; the colon is ours. */
export const SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** The server name of the tools that AgentCards itself answers. */
export const OWN_SERVER = "agentcards";

/** The tools that an agent sees of us. */
export const AGENT_TOOLS: ReadonlySet<string> = new Set([
  "search_tools",
  "call_tool",
  "run_workflow",
  "resume_workflow",
  "execute_code",
]);

/** The server name of workflows that were saved. */
export const WORKFLOW_SERVER = "workflow";

export function toolId(server: string, name: string): string {
  return `${server}:${name}`;
}

/** `server:name` apart, or just a name when there is no server in it. */
export function splitToolId(id: string): { server?: string; name: string } {
  const colon = id.indexOf(":");
  return colon < 0 ? { name: id } : { server: id.slice(0, colon), name: id.slice(colon + 1) };
}
