import type { Session, SessionContext } from "../call/mod.ts";
import type { CodeRoom } from "../code/mod.ts";
import type { Home } from "../config/mod.ts";
import type { DatabaseState, HomeDatabase } from "../db/mod.ts";
import type { Chains, Learning, ReadsAhead, Suggestions } from "../suggest/mod.ts";
import type { Audit, Pins } from "../policy/mod.ts";
import type { Snapshots } from "../snapshot/mod.ts";
import type { AnalyticsState, Metrics } from "../stats/mod.ts";
import type { Redactor } from "../telemetry/mod.ts";
import type { Cluster, ReportBook, SavedWorkflows, Triggers, Workflows, WorkSession } from "../workflow/mod.ts";

/** Everything behind the front door, wired once per process. The caller holds the home's lock. */
export interface Gateway extends AsyncDisposable {
  readonly home: Home;
  readonly sessions: ReadonlySet<Session>;
  /** The time that the engine stays without connections, by the present configuration. */
  idleExitMs(): Promise<number>;
  readonly redactor: Redactor;
  /** The database, once something has needed it. */
  database(): Promise<HomeDatabase>;
  /** The present state of the database, without waiting for it. */
  databaseState(): DatabaseState;
  readonly workflows: Workflows;
  /** The files of repositories around what acted. */
  readonly snapshots: Snapshots;
  readonly code: CodeRoom;
  readonly learning: Learning;
  readonly suggestions: Suggestions;
  readonly ahead: ReadsAhead;
  readonly chains: Chains;
  /** The figures of calls. */
  readonly stats: Pick<Metrics, "usage" | "kept" | "trends">;
  /** The copy of figures to another database; null where none is configured. */
  analytics(): Promise<AnalyticsState | null>;
  readonly saved: SavedWorkflows;
  readonly triggers: Triggers;
  /** The reports of supervisors. */
  readonly reports: ReportBook;
  readonly audit: Audit;
  /** The accepted definitions of all servers. */
  readonly pins: Pins;
  /** The engines that share the database; absent where this one has it to itself. */
  readonly cluster?: Cluster;
  openSession(context: SessionContext): Promise<WorkSession>;
  /** Ends a session once the runs it carries do not need it any more. */
  closeSession(session: Session): Promise<void>;
}
