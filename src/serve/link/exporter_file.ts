import type { Home } from "../../config/start.ts";
import { fs } from "../../platform/start.ts";

const NAME = /^OTEL_[A-Z_]+$/;

/** The variables of the runtime's exporter that engines of a home are started with. A file that is broken is none. */
export async function readExporter({ exporter }: Pick<Home, "exporter">): Promise<Record<string, string>> {
  try {
    const found: unknown = JSON.parse(await fs.readTextFile(exporter));
    return Object.fromEntries(
      Object.entries(found as object).filter(([name, value]) => NAME.test(name) && typeof value === "string"),
    );
  } catch {
    return {};
  }
}
