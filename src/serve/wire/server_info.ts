import { VERSION } from "../../platform/start.ts";

/** The name and version by which we introduce ourselves to clients. */
export const SERVER_INFO = Object.freeze({ name: "agentcards", version: VERSION });
