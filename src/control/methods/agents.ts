import { listAgents } from "../../agents/mod.ts";
import type { Method } from "../context.ts";

export const agents: Method<"agents"> = async ({ session }) => await listAgents(await session);

export const supervisoryReports: Method<"supervisory_reports"> = async ({ gateway }, { limit }) =>
  gateway.redactor.clean((await gateway.reports.list()).slice(0, limit ?? 100));
