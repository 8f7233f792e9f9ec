/** How long an approval can be used once it was given. */
export const APPROVAL_MS = 3_600_000;

/** The error of a call that a human refused. */
export const NOT_ALLOWED = "A human did not allow this call";
