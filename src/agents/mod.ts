// The door of this room: other rooms import this file only.
export { attachArguments } from "./attach.ts";
export type { Meter, Spent } from "./budget.ts";
export type { GatewayEntry } from "./job.ts";
export { type AgentReport, listAgents } from "./list.ts";
export { openPastSuccess, type PastSuccess } from "./past.ts";
export { resumedPrompt } from "./resumed.ts";
export { AUTO, type Choice, routesFor } from "./route.ts";
export { type AgentEnd, isHeld, runAgent } from "./run_agent.ts";
export { factsOf } from "./traits.ts";
