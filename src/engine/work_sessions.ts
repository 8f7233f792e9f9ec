import { openSession, type Session, type SessionContext, type Shared } from "../call/mod.ts";
import { AgentCardsError } from "../model/mod.ts";
import type { WorkSession } from "../workflow/mod.ts";

export interface WorkSessionsOptions {
  readonly shared: Shared;
  isClosing(): boolean;
  /** Told of every session before it is opened. */
  onOpen(context: SessionContext): void;
  /** The parts that sessions have at hand, once all of them are made. */
  parts(): Pick<WorkSession, "workflows" | "code" | "suggestions" | "promptHints" | "ahead" | "chains">;
}

/** The sessions of a gateway. */
export function createWorkSessions({ shared, isClosing, onOpen, parts }: WorkSessionsOptions) {
  const sessions = new Set<Session>();
  /** All that are open; one whose connection is gone may still carry a run, but takes up no other. */
  const open = new Set<Session>();
  const dispose = async (session: Session) => {
    if (open.delete(session)) await session[Symbol.asyncDispose]();
  };
  return {
    sessions,
    open,
    async openSession(context: SessionContext): Promise<WorkSession> {
      if (isClosing()) throw new AgentCardsError("ENGINE_BUSY", "The engine is closing down");
      onOpen(context);
      const session = await openSession(shared, context);
      sessions.add(session);
      open.add(session);
      shared.hooks.opened();
      return Object.assign(session, parts());
    },
    async closeSession(session: Session): Promise<void> {
      sessions.delete(session);
      await parts().workflows.released(session);
      await dispose(session);
    },
    disposeAll: () => Promise.all([...open].map(dispose)),
  };
}
