import assert from "node:assert/strict";
import { chosen } from "../../../src/suggest/ahead/choose.ts";
import { createPredictor, type Predictor } from "../../../src/suggest/ahead/predictor.ts";
import { valuesOf } from "../../../src/suggest/ahead/text_leaves.ts";
import { nameOf } from "../../../src/graphrag/mod.ts";
import { canonicalJson, type JsonObject } from "../../../src/model/mod.ts";

const step = (tool: string, args: JsonObject, output: unknown, reads = true) => ({
  tool,
  arguments: args,
  call: nameOf(tool, canonicalJson(args))!,
  leaves: valuesOf(output),
  reads,
});
const list = (name: string) => step("s:list", { folder: name }, { items: [1, 2].map((n) => ({ id: `${name}-${n}` })) });
const get = (id: string) => step("s:get", { id }, {});

/** Conversations that read each item of a list. */
function taught(times = 12): Predictor {
  const predictor = createPredictor();
  for (let i = 0; i < times; i++) {
    const course = predictor.begin("");
    for (const one of [list(`f${i}`), get(`f${i}-1`), get(`f${i}-2`)]) {
      predictor.learn(course, one);
    }
    predictor.end(course);
  }
  return predictor;
}

Deno.test("the items of a new list are foreseen, and not again once they are known", () => {
  const predictor = taught();
  const course = predictor.begin("");
  predictor.learn(course, list("new"));
  const calls = chosen(predictor.foresee(course)).map(({ arguments: args }) => args.id);
  assert.deepEqual(calls.toSorted(), ["new-1", "new-2"]);
  predictor.attach(course, get("new-1").call);
  predictor.learn(course, get("new-2"));
  assert.deepEqual(predictor.foresee(course).filter(({ tool }) => tool === "s:get").map(({ call }) => call), []);
  predictor.learn(course, step("s:save", { text: "x" }, {}, false));
  assert.ok(predictor.foresee(course).some(({ call }) => call === get("new-1").call), "what acted may have changed it");
});

Deno.test("a tool after which nothing was ever likely costs its calls no look for candidates", () => {
  const predictor = taught();
  assert.ok(predictor.isPromising("s:list") && predictor.isPromising("s:new"), "nothing is known of a new tool");
  const course = predictor.begin("");
  predictor.learn(course, step("s:echo", { text: "x" }, "x", false));
  assert.ok(!predictor.isPromising("s:echo"));
  assert.deepEqual(predictor.foresee(course, step("s:echo", { text: "y" }, "y", false)), []);
});

Deno.test("what was learned survives its being saved, and what was saved may be anything", () => {
  const next = createPredictor();
  for (const wrong of [null, 5, { weights: [], rates: [[1]], templates: [5, {}], conversations: [null] }]) {
    next.restore(wrong);
  }
  next.restore(JSON.parse(JSON.stringify(taught().save())));
  const course = next.begin("");
  next.learn(course, list("new"));
  assert.equal(chosen(next.foresee(course)).length, 2);
});

Deno.test("a conversation with the same prompt tells the reads that come next", () => {
  const predictor = createPredictor();
  const steps = [
    step("s:day", {}, "monday"),
    step("s:mails", { box: "in" }, "none"),
    step("s:rooms", { floor: 3 }, "none"),
  ];
  for (let i = 0; i < 8; i++) {
    const course = predictor.begin("Plan my week");
    for (const one of steps) {
      predictor.learn(course, one);
    }
    predictor.end(course);
  }
  const course = predictor.begin("plan my week please");
  predictor.learn(course, steps[0]!);
  assert.deepEqual(new Set(chosen(predictor.foresee(course)).map(({ tool }) => tool)), new Set(["s:mails", "s:rooms"]));
});
