import assert from "node:assert/strict";
import { parseTemplate, referencesIn, referred, resolveReferences } from "../../src/dag/references.ts";
import type { Json } from "../../src/model/json.ts";
import { type Random, seeded } from "../model/random.ts";

const OUTPUTS: Record<string, Json> = {
  user: { name: "Ann", tags: ["a", "b"], "odd key": { deep: [1, { x: null }] }, n: 0 },
  text: "plain",
  list: [10, 20],
  trap: "$OUTPUT[user].name and $$OUTPUT[x]",
};
const fill = (value: Json) => resolveReferences(value, (reference) => referred(OUTPUTS[reference.id], reference));

Deno.test("a reference that is the whole text gives the value itself", () => {
  assert.deepEqual(fill("$OUTPUT[user].tags"), ["a", "b"]);
  assert.equal(fill("$OUTPUT[user].n"), 0);
  assert.equal(fill('$OUTPUT[user]["odd key"].deep[1].x'), null);
  assert.deepEqual(fill("$OUTPUT[list]"), [10, 20]);
});

Deno.test("inside a text it is written out, objects as JSON, and the text around it stays", () => {
  assert.equal(fill("Hello $OUTPUT[user].name!"), "Hello Ann!");
  assert.equal(fill("$OUTPUT[list][1]$OUTPUT[text]"), "20plain");
  assert.equal(fill("see $OUTPUT[user].tags, then."), 'see ["a","b"], then.');
  assert.equal(fill("End of $OUTPUT[text]."), "End of plain.");
});

Deno.test("it works in nested objects and lists, in values and not in keys", () => {
  assert.deepEqual(fill({ a: [{ b: "$OUTPUT[text]" }, 1, true, null], "$OUTPUT[text]": "x" }), {
    a: [{ b: "plain" }, 1, true, null],
    "$OUTPUT[text]": "x",
  });
  const hostile = JSON.parse('{"__proto__": {"polluted": "$OUTPUT[text]"}}') as Json;
  const filled = fill(hostile) as Record<string, unknown>;
  assert.ok(Object.hasOwn(filled, "__proto__"));
  assert.equal((filled as { polluted?: unknown }).polluted, undefined);
});

Deno.test("dag-016: what a tool said is never expanded again, and two dollars mean the text itself", () => {
  assert.equal(fill("$OUTPUT[trap]"), "$OUTPUT[user].name and $$OUTPUT[x]");
  assert.equal(fill("it says: $OUTPUT[trap]"), "it says: $OUTPUT[user].name and $$OUTPUT[x]");
  assert.equal(fill("write $$OUTPUT[user] and $$RESULT[r]"), "write $OUTPUT[user] and $RESULT[r]");
  assert.equal(fill("$ $$ $OUTPUTS[x] OUTPUT[x] $output[x]"), "$ $$ $OUTPUTS[x] OUTPUT[x] $output[x]");
});

Deno.test("dag-013: a path that is not there fails and names what is; nothing inherited counts", () => {
  assert.throws(
    () => fill("$OUTPUT[user].nme"),
    /\$OUTPUT\[user\]\.nme leads nowhere: \$OUTPUT\[user\] has name, tags, odd key, n/,
  );
  assert.throws(() => fill("$OUTPUT[user].tags[5]"), /\$OUTPUT\[user\]\["tags"\] is a list of 2/);
  assert.throws(() => fill("$OUTPUT[user].n.x"), /is a number/);
  for (const path of [".__proto__.polluted", ".constructor.prototype", ".toString", '["hasOwnProperty"]']) {
    assert.throws(() => fill(`$OUTPUT[user]${path}`), /leads nowhere/, path);
  }
  assert.throws(() => fill("$OUTPUT[list].length"), /leads nowhere/);
});

Deno.test("what only begins like a reference is an error before anything runs", () => {
  for (const text of ["$OUTPUT[", "$OUTPUT[]", "$OUTPUT[a b]", `$OUTPUT[${"x".repeat(65)}]`, "$RESULT[ü]"]) {
    assert.throws(() => referencesIn({ a: [text] }), /is not a reference/, text);
  }
  const found = referencesIn({ a: ["$OUTPUT[x].y[0]", { b: "$RESULT[r_1] $OUTPUT[z]" }], c: 3 });
  assert.deepEqual(found.map(({ kind, id, path }) => [kind, id, path]), [
    ["output", "x", ["y", 0]],
    ["result", "r_1", []],
    ["output", "z", []],
  ]);
});

Deno.test("any template gives what a plain reading of the rules gives", () => {
  const random = seeded(7);
  for (let round = 0; round < 3_000; round++) {
    const text = template(random);
    const [actual, expected] = [attempt(() => fill(text)), attempt(() => model(text))];
    assert.deepEqual(actual, expected, text);
  }
});

Deno.test("a template made to be slow is not", () => {
  const began = performance.now();
  parseTemplate("$OUTPUT[a]" + "[0]".repeat(50_000));
  parseTemplate("$".repeat(100_000) + "OUTPUT[a]");
  assert.throws(() => parseTemplate("$OUTPUT[".repeat(20_000)));
  assert.ok(performance.now() - began < 1_000);
});

function template(random: Random): string {
  const parts = [
    "$OUTPUT[user]",
    "$OUTPUT[text]",
    "$$OUTPUT[user]",
    "$",
    "[",
    "]",
    ".name",
    ".tags",
    "[0]",
    '["odd key"]',
    ".",
    " ",
    "x",
    ".nope",
    "$OUTPUT[list]",
    "[1]",
    "$OUTPUT[",
  ];
  return Array.from({ length: random.below(5) + 1 }, () => parts[random.below(parts.length)]!).join("");
}

/** The rules, read letter by letter. */
function model(text: string): Json {
  const out: Json[] = [];
  let rest = text;
  while (rest) {
    if (rest.startsWith("$$OUTPUT[")) {
      out.push("$OUTPUT[");
      rest = rest.slice(9);
    } else if (rest.startsWith("$OUTPUT[")) {
      const id = rest.slice(8).split("]")[0]!;
      if (!rest.includes("]") || !/^[A-Za-z0-9_-]{1,64}$/.test(id)) throw new Error("bad");
      rest = rest.slice(8 + id.length + 1);
      let value: Json | undefined = OUTPUTS[id];
      for (;;) {
        const step = ['["odd key"]', ".name", ".tags", ".nope", ".x", "[0]", "[1]"].find((s) =>
          rest.startsWith(s) && !(s.startsWith(".") && /^[A-Za-z0-9_]/.test(rest.slice(s.length)))
        );
        const word = /^\.[A-Za-z_][A-Za-z0-9_]*/.exec(rest)?.[0];
        if (!step && !word) break;
        const used = step ?? word!;
        rest = rest.slice(used.length);
        const key = used.startsWith("[") ? JSON.parse(used)[0] as string | number : used.slice(1);
        const holder = value as Record<string, Json> | Json[] | null;
        if (typeof holder !== "object" || holder === null || (typeof key === "number") !== Array.isArray(holder)) {
          throw new Error("bad");
        }
        if (!Object.hasOwn(holder, key)) throw new Error("bad");
        value = (holder as Record<string, Json>)[key];
      }
      out.push({ value: value! } as Json);
    } else {
      out.push(rest[0]!);
      rest = rest.slice(1);
    }
  }
  const valueOf = (piece: Json) => (piece as { value: Json }).value;
  if (out.length === 1 && typeof out[0] === "object") return valueOf(out[0]!);
  return out.map((piece) => {
    if (typeof piece === "string") return piece;
    const value = valueOf(piece);
    return typeof value === "string" ? value : JSON.stringify(value);
  }).join("");
}

function attempt(work: () => Json): { value: Json } | "error" {
  try {
    return { value: work() };
  } catch {
    return "error";
  }
}
