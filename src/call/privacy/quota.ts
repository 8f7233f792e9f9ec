/** So many new values of one answer, and of one server within an hour, are kept behind their tokens. */
export const MOST_KEPT = 20_000;
/** So many values of one server are kept in all; those that were not seen for longest go first. */
export const MOST_OF_A_SERVER = 50_000;
