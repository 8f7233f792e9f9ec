import { filesOf } from "./files.ts";
import { patternOf, type Trigger } from "./form.ts";
import type { Switched, TriggerStore } from "./trigger_store.ts";

type Place = Pick<Switched, "path" | "name" | "folder">;

/** Files that came while no engine looked, where the owner wants none of them made up. */
export async function skipMissedFiles(
  one: Place & { readonly triggers: readonly Trigger[]; readonly files: Set<string> },
  store: TriggerStore,
): Promise<void> {
  for (const [entry, trigger] of one.triggers.entries()) {
    if (trigger.kind !== "file" || trigger.missed !== "skip") continue;
    await noteFiles(one, { entry, trigger, store });
  }
}

/** Notes the files of a trigger as known: only later ones start it. */
export async function noteFiles(
  { path, name, folder, files }: Place & { readonly files?: Set<string> },
  { entry, trigger, store }: {
    readonly entry: number;
    readonly trigger: Extract<Trigger, { kind: "file" }>;
    readonly store: TriggerStore;
  },
): Promise<void> {
  const there = await filesOf(patternOf(trigger, folder ?? undefined)!);
  await store.add(
    [...there].map(([file, cause]) => ({
      path,
      cause,
      at: Date.now(),
      state: "seen",
      run: null,
      detail: { entry, name, folder, cause: { path: file }, after: [] },
    })),
  );
  for (const cause of there.values()) files?.add(cause);
}
