/** Something that a person hears of. Its texts are ours; names of tools and servers stand in them, arguments never. */
export interface Alert {
  /** `act`: a person has to do something. `note`: a person may want to know. */
  readonly kind: "act" | "note";
  /** Alerts of one subject within a minute are one alert. */
  readonly subject: string;
  readonly title: string;
  readonly text: string;
  /** The names of the channels that tell it; those that are for its kind, where none are named. */
  readonly channels?: readonly string[];
}

const QUIET_MS = 60_000;
/** At most so many a minute, whatever happens. */
const MOST_A_MINUTE = 6;

/** Tells whether an alert of a subject may be shown now: each once a minute, few of all together. */
export function createLimiter(now: () => number = Date.now): (subject: string) => boolean {
  let told = new Map<string, number>();
  return (subject) => {
    const at = now();
    told = new Map([...told].filter(([, shown]) => at - shown < QUIET_MS));
    if (told.has(subject) || told.size >= MOST_A_MINUTE) return false;
    told.set(subject, at);
    return true;
  };
}
