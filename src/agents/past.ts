import { isObject, messageOf } from "../model/mod.ts";
import { replaceFile } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import { log } from "../telemetry/mod.ts";

/** Ends of the tasks of one agent. */
export interface Ends {
  readonly ok: number;
  readonly failed: number;
}

/** The ends of agent tasks so far, by kind of task and agent. */
export interface PastSuccess {
  /** The share of tasks of these kinds that an agent did; one half where it has done none. */
  of(agent: string, traits: readonly string[]): Promise<{ readonly share: number } & Ends>;
  note(agent: string, traits: readonly string[], isOk: boolean): void;
}

type Counts = Map<string, Ends>;

/** Kinds and agents are words of tasks: no more of them are kept. */
const MOST = 1_000;
/** Older ends fade: above so many, both counts are halved. */
const FADES_AT = 200;
const NONE: Ends = { ok: 0, failed: 0 };
/** Of tasks without a kind. */
const ANY = "any";

/** Opens the file of past ends; one that cannot be read or written costs the memory and nothing else. */
export function openPastSuccess(path: string): PastSuccess {
  let reading: Promise<Counts> | undefined;
  let writing: Promise<void> = Promise.resolve();
  const counts = () => reading ??= read(path);
  const kindsOf = (traits: readonly string[]) => traits.length > 0 ? traits : [ANY];

  async function noted(agent: string, traits: readonly string[], isOk: boolean): Promise<void> {
    const all = await counts();
    for (const kind of kindsOf(traits)) {
      const key = `${kind} ${agent}`;
      const { ok, failed } = all.get(key) ?? NONE;
      if (!all.has(key) && all.size >= MOST) continue;
      const by = ok + failed >= FADES_AT ? 0.5 : 1;
      all.set(key, { ok: ok * by + Number(isOk), failed: failed * by + Number(!isOk) });
    }
    await replaceFile(path, JSON.stringify(Object.fromEntries(all)), { mode: 0o600 });
  }

  return {
    async of(agent, traits) {
      const all = await counts();
      let [ok, failed] = [0, 0];
      for (const kind of kindsOf(traits)) {
        const ends = all.get(`${kind} ${agent}`) ?? NONE;
        ok += ends.ok;
        failed += ends.failed;
      }
      return { ok, failed, share: (ok + 1) / (ok + failed + 2) };
    },
    note(agent, traits, isOk) {
      writing = writing.then(() => noted(agent, traits, isOk)).catch((error) =>
        log("warning", "agent_ends_not_written", { path, reason: messageOf(error) })
      );
    },
  };
}

async function read(path: string): Promise<Counts> {
  const found: unknown = await fs.readTextFile(path).then(JSON.parse).catch(() => ({}));
  const entries = Object.entries(isObject(found) ? found : {}).slice(0, MOST);
  return new Map(entries.flatMap(([key, ends]) => {
    const { ok, failed } = isObject(ends) ? ends : {};
    return typeof ok === "number" && typeof failed === "number" ? [[key, { ok, failed }]] : [];
  }));
}
