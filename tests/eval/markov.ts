/** What to beat: the tool that came next most often after the last two, else after the last one, else at all. */
export function createSecondOrder() {
  const counts = new Map<string, Map<string, number>>();
  const places = (before: readonly string[]) => {
    const [two = "", one = ""] = ["", "", ...before].slice(-2);
    return [`2 ${two} ${one}`, `1 ${one}`, "0"];
  };
  return {
    predict(before: readonly string[]): string | undefined {
      const known = places(before).map((place) => counts.get(place)).find((next) => next !== undefined);
      return known && [...known].reduce((best, entry) => entry[1] > best[1] ? entry : best)[0];
    },
    learn(before: readonly string[], next: string): void {
      for (const place of places(before)) {
        const known = counts.getOrInsertComputed(place, () => new Map());
        known.set(next, (known.get(next) ?? 0) + 1);
      }
    },
  };
}
