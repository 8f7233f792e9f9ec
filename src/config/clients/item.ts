/** One entry of a file: the keys to its map, its name and what it says. */
export interface Item {
  readonly keys: readonly string[];
  readonly name: string;
  readonly entry: unknown;
}
