// Tools that differ in what they do and in what they do it to, and requests for them.
const DOES: readonly (readonly [string, string])[] = [
  ["list", "Lists"],
  ["get", "Gets"],
  ["create", "Creates"],
  ["delete", "Deletes"],
  ["search", "Searches"],
  ["update", "Updates"],
  ["archive", "Archives"],
  ["share", "Shares"],
  ["export", "Exports"],
  ["count", "Counts"],
];
const THINGS = [
  "invoice",
  "calendar event",
  "photo album",
  "support ticket",
  "weather station",
  "shopping list",
  "bank account",
  "train journey",
  "blog article",
  "chat channel",
  "database table",
  "code review",
  "recipe",
  "playlist",
  "meeting room",
  "parcel",
  "survey",
  "password",
  "music track",
  "web page",
] as const;

export function madeUpTools(count: number): readonly unknown[] {
  return Array.from({ length: count }, (_, i) => {
    const [verb, does] = DOES[i % DOES.length]!;
    const thing = THINGS[Math.floor(i / DOES.length) % THINGS.length]!;
    const again = Math.floor(i / DOES.length / THINGS.length);
    return {
      name: `${verb}_${thing.replaceAll(" ", "_")}${again === 0 ? "" : `_${again}`}`,
      description: `${does} a ${thing} of the user${again === 0 ? "" : `, version ${again}`}`,
      inputSchema: {
        type: "object",
        properties: { name: { type: "string", description: `The name of the ${thing}` }, limit: { type: "integer" } },
        required: ["name"],
      },
    };
  });
}

/** A request in other words than those of the tools, another one each time. */
export function requestOf(round: number): string {
  const thing = THINGS[round * 7 % THINGS.length]!;
  const ways = ["I would like to see", "please remove", "how many are there of", "give my colleague", "set up a new"];
  return `${ways[round % ways.length]} ${thing} number ${round}`;
}
