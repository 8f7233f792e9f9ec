import type { ModelFolder } from "./folder.ts";
import { type HubOptions, prepareHubModel } from "./hub.ts";
import { MINILM, prepareMiniLm } from "./minilm.ts";

/** Names of the default model: it is the same one whether it is called by its short or its full name. */
const MINILM_NAMES = new Set([MINILM, `sentence-transformers/${MINILM}`]);

/** The one door to every model: the default is made from its npm package, any other comes from the hub. */
export function prepareModel(options: HubOptions): Promise<ModelFolder> {
  return MINILM_NAMES.has(options.model) ? prepareMiniLm(options.root) : prepareHubModel(options);
}
