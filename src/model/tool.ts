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
  /** The rest of its definition: icons, metadata. */
  readonly more?: JsonObject;
  /** SHA-256 over the canonical JSON of the whole definition. */
  readonly hash: string;
}

/** The effect of a call on the world: none, the same however often, or a new one each time. */
export type Effect = "read" | "idempotent" | "effectful";

/** The parts of a result besides its value: content that is no text, metadata. */
export interface Beside {
  readonly content?: Json[];
  readonly meta?: JsonObject;
}

/** The result of a call: the value itself, or the handle and the beginning of a large one. */
export type Output =
  & ({ readonly kind: "value"; readonly value: Json } | StoredOutput)
  /** The attachments: themselves, or their handle. */
  & { readonly beside?: Beside | { readonly handle: string } };

interface StoredOutput {
  readonly kind: "stored";
  readonly handle: string;
  /** The path of the value in the stored result. */
  readonly steps: readonly Step[];
  readonly shape: string;
  readonly preview: string;
}

/** A tool that could not be taken as it came, and what was done about it. */
export interface ToolNote {
  readonly tool: string;
  readonly why: string;
}

/** The lists of a server, as last read from it. */
export interface Catalogue {
  readonly tools: readonly Tool[];
  readonly dropped: readonly ToolNote[];
  readonly repaired: readonly ToolNote[];
  readonly instructions?: string;
  readonly offers?: Offers;
}

/** The resources, templates and prompts of a server, as it lists them. */
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

/** The server name under which rules, audit and statistics know agent programs: `agent:NAME`. */
export const AGENT_SERVER = "agent";

export function toolId(server: string, name: string): string {
  return `${server}:${name}`;
}

/** `server:name` apart, or just a name when there is no server in it. */
export function splitToolId(id: string): { server?: string; name: string } {
  const colon = id.indexOf(":");
  return colon < 0 ? { name: id } : { server: id.slice(0, colon), name: id.slice(colon + 1) };
}
