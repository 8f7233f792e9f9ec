import { isObject } from "../../model/mod.ts";
import { INVALID_PARAMS, RESOURCE_NOT_FOUND } from "./codes.ts";
import { META } from "./era.ts";
import type { Codec } from "./form.ts";
import { SERVER_INFO } from "./server_info.ts";

/** Results that a client may keep for a while, and that must say for how long. */
const CACHEABLE = new Set(["resources/read"]);

/** The stateless revision, 2026-07-28. */
export const MODERN: Codec = {
  capabilities(meta) {
    const capabilities = meta[`${META}clientCapabilities`];
    return isObject(capabilities) ? capabilities : undefined;
  },
  logLevel: (meta) => meta[`${META}logLevel`],
  takesQuestions: true,
  result: (result, method) => ({
    resultType: "complete",
    ...CACHEABLE.has(method) && { ttlMs: 0, cacheScope: "private" },
    ...result,
    _meta: { [`${META}serverInfo`]: SERVER_INFO, ...isObject(result._meta) ? result._meta : {} },
  }),
  // The revision has no number of its own for a resource that is not there.
  error: ({ code, message, data }) => ({
    code: code === RESOURCE_NOT_FOUND ? INVALID_PARAMS : code,
    message,
    ...data !== undefined && { data },
  }),
  resultHead: '{"resultType":"complete",',
};
