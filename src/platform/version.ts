import denoJson from "../../deno.json" with { type: "json" };

/** The version of this AgentCards. */
export const VERSION: string = denoJson.version;
