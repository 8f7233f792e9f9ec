import { listAgents } from "../../agents/mod.ts";
import type { Method } from "../context.ts";

export const agents: Method<"agents"> = async ({ session }) => await listAgents(await session);
