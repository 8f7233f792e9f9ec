import { z } from "../../../deps.ts";
import { durationUpTo, UNITS } from "../duration.ts";

const LONGEST = 2 ** 31 - 1;

const HEADER = /^[\w!#$%&'*+.^`|~-]{1,100}$/;

/** The place that OpenTelemetry data is sent to; nothing is sent without one. */
const otlp = z.strictObject({
  endpoint: z.url({ protocol: /^https?$/, error: "must be a URL such as http://127.0.0.1:4318" })
    .transform((url) => url.replace(/\/+$/, "")),
  protocol: z.enum(["http/protobuf", "http/json"]).optional(),
  /** `${NAME}` stands for a value of `secrets.env`. */
  headers: z.record(z.string().regex(HEADER, "is no name of a header"), z.string().max(8_000)).optional(),
  /** The name that the data is sent under. */
  service: z.string().regex(/^[\w.-]{1,100}$/, "is 1 to 100 letters, digits, _ . or -").optional(),
  /** The time between two sendings of metrics. */
  every: durationUpTo(LONGEST).refine((ms) => ms >= 100 && ms <= UNITS.d!, "is between 100 ms and a day").optional(),
});

/** A PostgreSQL that figures of calls and runs are copied to. */
const analytics = z.strictObject({
  /** `${NAME}` stands for a value of `secrets.env`. */
  postgres: z.string().max(2_000).regex(/^(?:postgres(?:ql)?:\/\/|\$\{)/, "must be like postgres://USER@HOST/NAME")
    .optional(),
  /** The time between two copies. */
  every: durationUpTo(LONGEST).refine((ms) => ms >= 100 && ms <= UNITS.d!, "is between 100 ms and a day").optional(),
});

const kinds = z.array(z.enum(["act", "note"])).min(1).optional();

/** A program that gets each alert on its stdin, or an address that each is posted to. */
const channel = z.union([
  z.strictObject({
    command: z.string().regex(/^(?:\/|[A-Za-z]:[\\/])/, "must be an absolute path"),
    args: z.array(z.string().max(2_000)).max(50).optional(),
    for: kinds,
  }),
  z.strictObject({
    /** `${NAME}` stands for a value of `secrets.env`, here and in headers. */
    url: z.string().max(2_000).regex(
      /^(?:https:\/\/|http:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])[:/]|\$\{)/,
      "must begin with https://, or be on this machine",
    ),
    headers: z.record(z.string().regex(HEADER, "is no name of a header"), z.string().max(8_000)).optional(),
    for: kinds,
  }),
], { error: "must be { command, args? } with an absolute path, or { url, headers? } with https" });

const notify = z.strictObject({
  /** True if decisions that wait for a person are desktop notifications. */
  desktop: z.boolean().optional(),
  /** True if news that needs nobody is a desktop notification, too: a tool that became slower, for example. */
  notes: z.boolean().optional(),
  channels: z.record(z.string().regex(/^[\w.-]{1,64}$/, "is 1 to 64 letters, digits, _ . or -"), channel).optional(),
});

/** The sections about what is seen of the gateway from outside. */
export const SEEING_FIELDS = {
  telemetry: z.strictObject({ otlp: otlp.optional() }).optional(),
  analytics: analytics.optional(),
  notify: notify.optional(),
  health: z.strictObject({
    /** The time between two pings of a running server; 0: none. */
    every: durationUpTo(LONGEST).optional(),
  }).optional(),
} as const;
