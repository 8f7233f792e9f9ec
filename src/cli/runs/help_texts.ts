/** The help of an argument that names a run. */
export const RUN_ID = "its id, or how the id begins";

/** The exit codes of commands that carry a run. */
export const RUN_CODES = "\nExit code: 0 completed, 1 failed, partly failed or aborted, 3 paused.";
