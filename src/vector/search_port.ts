import type { Tool } from "../model/mod.ts";

/** Finds tools by what they mean, by the words they share with a query, and by their names. */
export interface ToolSearch {
  configure(config: EmbeddingsConfig): void;
  /** Loads the model in the background, so that the first search need not. */
  warm(): void;
  /** Embeds what is new, in the background. Of each server all tools are given, and only those count from now on. */
  prepare(tools: readonly Tool[]): void;
  search(tools: readonly Tool[], query: string, limit: number, hints?: SearchHints): Promise<Ranking>;
  /** Embeds requests of earlier, in the background; those that the same source named before are no longer wanted. */
  remember(source: string, requests: readonly string[]): void;
  /** The similarity of a request to each of some that were remembered, from 0 to 1; undefined without a usable model. */
  compare(request: string, earlier: readonly string[]): Promise<Float32Array | undefined>;
  /** The vectors of the parts of a text, each read in the light of the others; undefined without a usable model. */
  encodeParts(parts: readonly string[]): Promise<readonly (Float32Array | undefined)[] | undefined>;
  /** Resolves when every tool that was prepared is embedded; rejects with what stands in the way. */
  settled(onProgress?: (done: number, of: number) => void): Promise<void>;
  status(tools: readonly Tool[]): SearchStatus;
  close(): Promise<void>;
}

/** The knowledge about tools that their own texts do not have. */
export interface SearchHints {
  /** The instructions of servers, by server. */
  readonly about?: ReadonlyMap<string, string>;
  readonly experience?: SearchExperience;
}

/** The lessons from the use of tools. */
export interface SearchExperience {
  /** Tools that were called after a search: the words of the search, which were remembered, and the id of the tool. */
  readonly judgements: readonly Judgement[];
  /** How often in a row the latest calls of a tool failed. */
  failures(tool: string): number;
}

export interface Judgement {
  readonly request: string;
  readonly tool: string;
  /** The deviations by which the tool was behind the first one in the answer. */
  readonly missing: number;
}

/** Which model is wanted and where models come from. */
export interface EmbeddingsConfig {
  readonly model: string;
  readonly hub: string;
  /** True: tools are found by words and names only, and no model is loaded. */
  readonly isOff?: boolean;
}

export interface Ranking {
  /** Best first; empty when nothing fits well. */
  readonly hits: readonly Hit[];
  /** When nothing fits well: what came nearest, the best first. */
  readonly weak: readonly Hit[];
  /** True if it is likely that no tool serves the request. */
  readonly isUnlikely?: boolean;
  /** A note about how the search was made. */
  readonly note?: string;
}

export interface Hit {
  readonly tool: Tool;
  /** From 0 to 1: how well it fits. */
  readonly score: number;
}

export interface SearchStatus {
  readonly model: string;
  readonly dimension: number | null;
  readonly state: "off" | "resting" | "loading" | "ready" | "failed";
  readonly problem: string | null;
  /** The number of the given tools that have a vector. */
  readonly indexed: number;
  /** The model that will take over when its index is complete. */
  readonly next: NextModel | null;
  readonly download: DownloadProgress | null;
}

export interface NextModel {
  readonly model: string;
  readonly done: number;
  readonly of: number;
  readonly problem: string | null;
}

/** The progress of a download. */
export interface DownloadProgress {
  readonly file: string;
  readonly bytes: number;
  /** Missing where the hub does not tell. */
  readonly of?: number;
}
