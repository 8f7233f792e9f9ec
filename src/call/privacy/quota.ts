/** So many new values of one answer, and of one server within an hour, are kept behind their tokens. */
export const MOST_KEPT = 20_000;
