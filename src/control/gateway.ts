import type { Session, SessionContext } from "../call/session.ts";
import type { CodeRoom } from "../code/services.ts";
import type { Home } from "../config/home.ts";
import type { HomeDatabase } from "../db/home_database.ts";
import type { DatabaseState } from "../db/supervisor.ts";
import type { Learning } from "../suggest/learning.ts";
import type { Redactor } from "../telemetry/redact.ts";
import type { Suggestions } from "../suggest/suggestions.ts";
import type { Templates } from "../workflow/templates.ts";
import type { Workflows, WorkSession } from "../workflow/workflows.ts";

/** Everything behind the front door, wired once per process. The caller holds the home's lock. */
export interface Gateway extends AsyncDisposable {
  readonly home: Home;
  readonly sessions: ReadonlySet<Session>;
  readonly idleExitMs: number;
  readonly redactor: Redactor;
  /** The database, once something has needed it. */
  database(): Promise<HomeDatabase>;
  /** How the database is just now, without waiting for it. */
  databaseState(): DatabaseState;
  readonly workflows: Workflows;
  readonly code: CodeRoom;
  readonly learning: Learning;
  readonly suggestions: Suggestions;
  readonly templates: Templates;
  openSession(context: SessionContext): Promise<WorkSession>;
  /** Ends a session once the runs it carries do not need it any more. */
  closeSession(session: Session): Promise<void>;
}
