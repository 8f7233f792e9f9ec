import { terms } from "../../model/mod.ts";
import type { ToolSketch } from "./infer.ts";

/** Words that name nothing in particular: many tools give and take an id or a name. */
const COMMON = new Set(
  "id name type value key text content path url data result status title description message".split(" "),
);

/** What one tool gives that another needs, going by the names in their schemas alone. */
export function feeds(source: ToolSketch, target: ToolSketch): { readonly path: string; readonly parameter: string }[] {
  const about = new Set(terms(source.name));
  return target.inputs.filter(({ isRequired }) => isRequired).flatMap(({ name }) => {
    const wanted = terms(name);
    const found = source.outputs.find(({ path }) => {
      const own = terms(path.split(".").at(-1)!.replaceAll("[]", ""));
      if (own.join() === wanted.join()) {
        return !wanted.every((word) => COMMON.has(word)) || wanted.some((word) => about.has(word));
      }
      // `id` of what lists issues is an `issue_id`.
      return own.every((word) => COMMON.has(word)) && own.length > 0 &&
        wanted.every((word) => own.includes(word) || about.has(word)) && wanted.some((word) => about.has(word));
    });
    return found ? [{ path: found.path, parameter: name }] : [];
  });
}
