import { type CallResult, type Client, isObject, messageOf } from "../../model/mod.ts";
import { shownJson, textResult } from "../answer.ts";
import type { Privacy } from "../session.ts";
import type { Stage } from "./stage.ts";

type Hide = <T>(value: T) => T;

/**
 * Puts personal data back for its tokens on the way in, so that rules and humans see real values, and hides it on the
 * way out. Real values exist behind this stage only.
 */
export function hidePersonalData(privacy: Privacy): Stage {
  return async (call, next) => {
    const { address: { server } } = call;
    // A server may repeat a value that it was given back, without the words by which the value would be recognised.
    const known = new Map<string, string>();
    const restore = <T>(value: T) => privacy.restore(value, server, (real, token) => known.set(real, token));
    const hide: Hide = (value) => privacy.hide(value, server, known);
    try {
      const name = await restore(call.address.name);
      // Everything but what the server itself has named.
      const { _meta, name: _name, requestState: _state, ...rest } = call.params;
      const params = { ...call.params, ...await restore(rest) };
      const client = hiding(call.client, { hide, restore });
      const result = await next({ ...call, address: { server, name }, params, client });
      return await hidden(result, (value) => privacy.hideLong(value, server, known), hide);
    } catch (error) {
      throw privacy.error(error, server);
    }
  };
}

interface Ways {
  readonly hide: Hide;
  restore<T>(value: T): Promise<T>;
}

/** The client as a server may use it: a model reads sampling requests, and an agent reads progress. */
function hiding(client: Client, { hide, restore }: Ways): Client {
  const { progress, request } = client;
  return {
    ...client,
    ...progress && { progress: (said) => progress(hide(said)) },
    ...request && {
      request: async (asked, signal) => {
        if (asked.method !== "sampling/createMessage") return await request(asked, signal);
        return await restore(await request({ ...asked, params: hide(asked.params) }, signal));
      },
    },
  };
}

type HideLong = <T>(value: T) => Promise<T>;

/** A result without personal data. Long results are searched off the main thread. */
async function hidden(result: CallResult, hideLong: HideLong, hide: Hide): Promise<CallResult> {
  try {
    if (result.kind === "error") return await hideLong(result);
    if (result.kind === "result") {
      // The questions to a human, and the state that belongs to them, pass as they are.
      const { inputRequests, requestState, ...rest } = result.result;
      const asked = {
        ...inputRequests !== undefined && { inputRequests: cleanQuestions(inputRequests, hide) },
        ...requestState !== undefined && { requestState },
      };
      return { kind: "result", result: { ...await hideLong(rest), ...asked } };
    }
    const { large } = result;
    if (large.isClean) return result;
    // Of a server that was started under another policy: what was stored is hidden when it is read.
    const clean = await hideLong(JSON.parse(new TextDecoder().decode(large.json)));
    const [json, shown] = [JSON.stringify(clean), shownJson(clean)].map((text) => new TextEncoder().encode(text));
    const output = await hideLong(large.output);
    return { kind: "large", large: { ...large, json: json!, shown: shown!, output, isClean: true } };
  } catch (error) {
    return {
      kind: "result",
      result: textResult(`It was answered, but the answer is withheld: ${messageOf(error)}`),
    };
  }
}

/** A model reads what a server asks a model; a human reads the other questions as they are. */
function cleanQuestions(questions: unknown, hide: Hide): unknown {
  if (!isObject(questions)) return questions;
  return Object.fromEntries(
    Object.entries(questions).map(([key, question]) => [
      key,
      isObject(question) && question.method === "sampling/createMessage" ? hide(question) : question,
    ]),
  );
}
