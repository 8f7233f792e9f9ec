/** The most that all pages of one list may hold together, as JSON. */
export const MAX_LIST_BYTES = 8 * 1_048_576;

/** The most entries of one page. */
export const MAX_PAGE_ENTRIES = 20_000;

/** The same for resources and prompts, which are compared as a whole whenever they are read. */
export const MAX_OFFER_BYTES = 2 * 1_048_576;
