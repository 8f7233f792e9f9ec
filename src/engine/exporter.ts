import { type ConfigFile, fillVariables, type Home, readConfigFile, storedSecrets } from "../config/mod.ts";
import { AgentCardsError, canonicalJson } from "../model/mod.ts";
import { replaceFile } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import { readExporter } from "../serve/start.ts";

type Otlp = NonNullable<NonNullable<ConfigFile["telemetry"]>["otlp"]>;
type Variables = Readonly<Record<string, string>>;

const METRICS_EVERY_MS = 60_000;
const SPANS_EVERY_MS = 5_000;
/** Records of logs go nowhere: they may hold words of servers. The port is that of the discard service. */
const NOWHERE = "http://127.0.0.1:9";

/**
 * Writes the variables that the configuration wants of the runtime's exporter into the file that engines are started
 * with. True if the file was changed, so that another start would have them.
 */
export async function settleExporter(home: Home): Promise<boolean> {
  const written = await readExporter(home);
  const wanted = await exporterVariables(home, (await readConfigFile(home.config)).telemetry?.otlp);
  if (canonicalJson(wanted) !== canonicalJson(written)) {
    if (Object.keys(wanted).length === 0) await fs.remove(home.exporter).catch(() => {});
    else await replaceFile(home.exporter, JSON.stringify(wanted), { mode: 0o600, isSynced: false });
    return true;
  }
  return false;
}

/** The variables that the runtime reads at its start; empty where nothing is configured. */
async function exporterVariables(home: Home, otlp: Otlp | undefined): Promise<Variables> {
  if (!otlp) return {};
  const { endpoint, protocol = "http/protobuf", headers = {}, service = "agentcards", every = METRICS_EVERY_MS } = otlp;
  const secrets = Object.keys(headers).length === 0 ? {} : await storedSecrets(home);
  const filled = Object.entries(headers).map(([name, value]) =>
    `${encodeURIComponent(name)}=${encodeURIComponent(filledIn(value, secrets))}`
  );
  return {
    OTEL_DENO: "true",
    // Texts that the program prints are no telemetry.
    OTEL_DENO_CONSOLE: "ignore",
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: NOWHERE,
    // The runtime's own requests are made below a span that is not recorded, and name no trace to servers.
    OTEL_TRACES_SAMPLER: "parentbased_always_on",
    OTEL_PROPAGATORS: "none",
    OTEL_SERVICE_NAME: service,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_METRIC_EXPORT_INTERVAL: String(every),
    OTEL_BSP_SCHEDULE_DELAY: String(Math.min(every, SPANS_EVERY_MS)),
    ...filled.length > 0 && { OTEL_EXPORTER_OTLP_HEADERS: filled.join(",") },
  };
}

function filledIn(text: string, secrets: Variables): string {
  const { filled, missing } = fillVariables(text, secrets);
  if (missing.length === 0) return filled;
  throw new AgentCardsError("CONFIG_INVALID", `telemetry.otlp.headers: ${missing.join(", ")} is not set`, {
    hint: `Set it with: agentcards secrets set ${missing[0]}`,
  });
}
