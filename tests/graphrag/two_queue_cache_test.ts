import assert from "node:assert/strict";
import { createPlaces } from "../../src/graphrag/two_queue_cache.ts";

const few = () => createPlaces<{ name?: string }>({ make: () => ({}), mostKnown: 3, mostNew: 2 });

Deno.test("a place that was visited twice outlives any number of new ones", () => {
  const places = few();
  places.visit("home").name = "home";
  places.visit("home");
  for (let i = 0; i < 100; i++) places.visit(`once ${i}`);
  assert.equal(places.get("home")?.name, "home");
  assert.equal(places.get("once 97"), undefined);
  assert.ok(places.get("once 98") && places.get("once 99"));
});

Deno.test("a place that is visited again in time is the same one", () => {
  const places = few();
  places.visit("a").name = "a";
  places.visit("b");
  assert.equal(places.visit("a").name, "a");
  assert.equal(places.get("a")?.name, "a");
});

Deno.test("of the known places, the one that was not visited for longest goes", () => {
  const places = few();
  for (const name of ["a", "b", "c"]) places.restore(name).name = name;
  places.visit("a");
  places.restore("d");
  assert.equal(places.get("b"), undefined);
  assert.deepEqual(["a", "c"].map((name) => places.get(name)?.name), ["a", "c"]);
});
