import type { Signs } from "./logistic.ts";
import type { Rates } from "./rates.ts";
import { KINDS, type Places, type Sight } from "./sight.ts";

/** The weights before anything was learned; from recorded conversations of other users. */
export const START_WEIGHTS: Readonly<Record<string, number>> = {
  again: 0.08,
  bias: 0.43,
  "few again": 0.52,
  "few order": 0.21,
  "few recalled": -0.15,
  "few template": 0.4,
  "few tool": -0.23,
  items: 0.22,
  "no again": 0.44,
  "no order": -0.87,
  "no recalled": -2.17,
  "no template": -0.87,
  order: 0.49,
  plain: 0.58,
  recalled: 0.57,
  said: 0.41,
  template: 0.12,
  tool: 0.25,
};

const logit = (share: number) => Math.log((share + 0.005) / (1.005 - share));

/** The signs of a candidate: the shares of its places as log odds, with how well each is founded. */
export function signsOf({ arguments: args, course, made }: Sight, rates: Rates, places: Places): Signs {
  const signs: Record<string, number> = { bias: 1 };
  for (const kind of KINDS) {
    if (places[kind].length === 0) {
      signs[`no ${kind}`] = 1;
      continue;
    }
    const { share, trials } = rates.share(places[kind]);
    signs[kind] = logit(share);
    signs[`few ${kind}`] = 1 / (1 + trials);
  }
  if (made) signs.items = Math.log(made.instance.count);
  const values = Object.values(args).filter((value) => typeof value === "string" && value.length > 2) as string[];
  if (values.length === 0) signs.plain = 1;
  else if (course.prompt !== "") {
    const said = course.prompt.toLowerCase();
    signs.said = values.filter((value) => said.includes(value.toLowerCase())).length / values.length;
  }
  return signs;
}
