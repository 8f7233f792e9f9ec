/** Error numbers of JSON-RPC and MCP. */
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const RESOURCE_NOT_FOUND = -32002;
/** Requests about a prompt or a resource of one server: they go to that server. */
export const FORWARDED: ReadonlySet<string> = new Set(["prompts/get", "resources/read", "completion/complete"]);
