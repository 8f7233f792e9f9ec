import type { Tool } from "../model/mod.ts";

/** Finds tools by what they mean, by the words they share with a query, and by their names. */
export interface ToolSearch {
  configure(config: EmbeddingsConfig): void;
  /** Loads the model in the background, so that the first search need not. */
  warm(): void;
  /** Embeds what is new, in the background. Of each server all tools are given, and only those count from now on. */
  prepare(tools: readonly Tool[]): void;
  search(tools: readonly Tool[], query: string, limit: number): Promise<Ranking>;
  /** Resolves when every tool that was prepared is embedded; rejects with what stands in the way. */
  settled(onProgress?: (done: number, of: number) => void): Promise<void>;
  status(tools: readonly Tool[]): SearchStatus;
  close(): Promise<void>;
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
