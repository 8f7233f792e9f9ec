// The light packages that are used in more than one folder. Heavy ones (the database, the MCP SDK, the model runtime)
// are imported by the one folder that owns them, so that a command pays only for what it uses. Versions: deno.json.
export { z } from "zod";
