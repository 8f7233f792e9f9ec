import type { ControlLink, ControlRequest, MethodName, Result } from "../control/mod.ts";
import { AgentCardsError } from "../model/mod.ts";

/** The dashboard's one connection to the engine: opened when a page needs it, and again when the engine went. */
export interface EngineLink {
  ask<M extends MethodName>(request: ControlRequest<M>): Promise<Result<M>>;
  close(): void;
}

/** Without requests for so long the connection is closed: an engine that nobody uses may end. */
const IDLE_MS = 30_000;

/** Methods that change nothing: asked once more when the engine went. */
const READING: ReadonlySet<string> = new Set<MethodName>([
  "approvals",
  "graph_all",
  "now",
  "run_page",
  "run_task",
  "runs",
  "search",
  "stats",
  "status",
  "tools",
  "workflow_check",
  "workflow_show",
  "workflows",
]);

export function createEngineLink(connect: () => Promise<ControlLink>, idleMs = IDLE_MS): EngineLink {
  let link: Promise<ControlLink> | undefined;
  let users = 0;
  let idle: ReturnType<typeof setTimeout> | undefined;

  function open(): Promise<ControlLink> {
    if (link) return link;
    const opening = connect();
    link = opening;
    const forget = () => {
      if (link === opening) link = undefined;
    };
    opening.then(({ closed }) => closed).then(forget, forget);
    return opening;
  }
  function close(): void {
    clearTimeout(idle);
    link?.then((open) => open.close(), () => {});
    link = undefined;
  }

  return {
    close,
    async ask(request) {
      users++;
      clearTimeout(idle);
      try {
        return await (await open()).ask(request);
      } catch (error) {
        const isGone = error instanceof AgentCardsError && error.code === "ENGINE_UNREACHABLE";
        if (!isGone || !READING.has(request.method)) throw error;
        return await (await open()).ask(request);
      } finally {
        if (--users === 0) idle = setTimeout(close, idleMs);
      }
    },
  };
}
