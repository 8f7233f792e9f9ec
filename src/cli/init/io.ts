import type { Home, OwnCommand } from "../../config/mod.ts";
import type { IndexReport } from "../../control/mod.ts";
import { system } from "../../platform/start.ts";

/** What `agentcards init` was asked to do. */
export interface InitOptions {
  readonly dryRun: boolean;
  /** Read just this file. */
  readonly config?: string;
  /** Only this client. */
  readonly client?: string;
  /** Take the project's committed files too. */
  readonly project: boolean;
  /** Let every client use what is moved. */
  readonly share?: boolean;
  /** Move servers that do not start, too. */
  readonly failing?: boolean;
  readonly yes: boolean;
  readonly undo: boolean;
  readonly json: boolean;
}

/** What came of starting a server once. */
export type ProbeResult = IndexReport;

/** Everything `init` needs from the outside. */
export interface InitIo {
  readonly home: Home;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly isTerminal: boolean;
  readonly color: boolean;
  out(text: string): void;
  err(text: string): void;
  confirm(question: string): Promise<boolean>;
  /** The command that starts our `serve`; its last argument is `serve`. */
  readonly entry: OwnCommand;
  /** What the user should know about that command. */
  readonly entryNote?: string | undefined;
  /** What our own tools cost an agent. */
  readonly ownTokens: number;
  /** Starts each of these servers of our configuration once and reads its tools. */
  probe(servers: readonly string[]): Promise<readonly ProbeResult[]>;
  /** Waits until the tools can be found by what they mean. */
  learn(): Promise<unknown>;
  /** Does something before the command ends by Ctrl-C; what it gives takes that back. */
  onInterrupt?(action: () => Promise<void>): () => void;
  /** The machine, where it is not this one. */
  readonly machine?: {
    readonly os?: typeof system.os;
    /** Where an administrator's Claude configuration would be. */
    readonly managed?: string;
    isClaudeRunning?(): Promise<boolean>;
  };
}
