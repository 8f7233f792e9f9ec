// Injuries to the files of a stopped home: nothing is forgotten without a word, and the backup brings everything back.
import type { RawClient } from "../../fixtures/client.ts";
import { sleep } from "../../fixtures/gateway.ts";
import { must } from "./disk.ts";
import { isMurky } from "./endure.ts";
import { addRuns, makeLatestBackup, mustRun } from "./filled.ts";
import { clearStage, type FaultHome, faultHome, makeHome, wordsOf } from "./home.ts";
import { copyFolder } from "./images.ts";
import { injure } from "./injury.ts";
import { judge, listRuns, lost, repeated, tryWorkflow } from "./judge.ts";
import { type Kind, line, pick } from "./kind.ts";
import { ask, connect, createLedger, isOver, type Ledger } from "./ledger.ts";
import { killAll, whyNoProcesses } from "./processes.ts";

const RESTORE_MS = 60_000;

export const injuries: Kind = {
  limitMs: 150_000,
  missing: whyNoProcesses,
  async prepare(root) {
    const home = faultHome(root);
    const templates = await makeTemplates(home);
    return async ({ random, isHarmless }) => {
      const state = pick(random, Object.keys(templates));
      const { ledger, backup } = templates[state]!;
      await copyFolder(home, `${root}/${state}`);
      const injury = isHarmless ? "none" : await injure(home, { random, yesterday: `${root}/yesterday` });
      try {
        const violations = [...await openInjured(home, ledger), ...await restoreLatest(home, { ledger, backup })];
        return {
          scene: injury.replace(/ of .*/, ""),
          violations: violations.map((text) => `${injury}, ${state}: ${text}`),
        };
      } finally {
        await killAll(root);
      }
    };
  },
};

interface Template {
  readonly ledger: Ledger;
  readonly backup: string;
}

/**
 * Homes with 20 or 40 finished runs, paused ones and a backup: as an engine that was killed in its first life leaves it
 * (nearly all is in the WAL), as one that was killed later leaves it, and cleanly stopped.
 */
async function makeTemplates(home: FaultHome): Promise<Record<string, Template>> {
  const { root, dir } = home;
  await makeHome(home);
  const killedAs = async (name: string, ledger: Ledger): Promise<Template> => {
    const backup = await makeLatestBackup(home);
    // Time for what is written once a second.
    await sleep(1_500);
    await killAll(root);
    await must("cp", "-a", dir, `${root}/${name}`);
    return { ledger, backup };
  };
  const first = createLedger();
  await addRuns(home, first, { runs: 20, prefix: "a" });
  const young = await killedAs("young", first);
  await must("cp", "-a", `${dir}/data`, `${root}/yesterday`);
  const all = createLedger(first);
  await addRuns(home, all, { runs: 20, prefix: "b" });
  const killed = await killedAs("killed", all);
  await clearStage(home);
  await mustRun(home, "status");
  await mustRun(home, "engine", "stop");
  await killAll(root);
  await Deno.rename(dir, `${root}/stopped`);
  return { young, killed, stopped: killed };
}

/** Opens an injured home: calls work, and either every run is told or everybody says that the database is not well. */
async function openInjured(home: FaultHome, ledger: Ledger): Promise<string[]> {
  let client: RawClient;
  try {
    client = await connect(home);
  } catch (error) {
    return [`no handshake: ${line((error as Error).message)}`];
  }
  try {
    const direct = await ask(client, "call_tool", { tool: "kit:echo", arguments: { text: "direct" } });
    const search = await ask(client, "search_tools", { query: "send something away" });
    const workflow = await tryWorkflow(client);
    const status = await home.command(["status"]);
    const listed = await listRuns(home);
    const wrong = [
      ...direct.kind === "answer" ? [] : [`a direct call: ${line(direct.text)}`],
      ...search.kind === "answer" ? [] : [`search: ${line(search.text)}`],
      ...workflow.kind === "late" ? [workflow.text] : [],
      ...status.code === undefined ? [`status: ${wordsOf(status)}`] : [],
      ...repeated(home, ledger),
    ];
    const missing = typeof listed === "string" ? [listed] : await lost(client, ledger, listed);
    if (missing.length === 0) return wrong;
    // Something is gone or cannot be read. That is allowed, if it is said.
    const words = wordsOf(status);
    if (status.code === 0) wrong.push(`${line(missing.join("; "))}, and status says that all is well`);
    else if (!/database/i.test(words) || isMurky(words)) {
      wrong.push(`status is not clear: ${line(words.slice(-300), 300)}`);
    }
    if (typeof listed !== "string" && status.code === 0) wrong.push("runs lists what is left without a word");
    if (workflow.isDone && missing.some((text) => text.includes("not known"))) {
      wrong.push("workflows run on a database that lost its past");
    }
    if (workflow.kind === "refused" && isMurky(workflow.text)) wrong.push(`a workflow: ${line(workflow.text)}`);
    return wrong;
  } finally {
    await client[Symbol.asyncDispose]();
  }
}

async function restoreLatest(
  home: FaultHome,
  { ledger, backup }: { ledger: Ledger; backup: string },
): Promise<string[]> {
  const wrong: string[] = [];
  let restored = await home.command(["restore", "--latest"], RESTORE_MS);
  if (restored.code !== 0) {
    wrong.push(`restore --latest: ${line(wordsOf(restored))}`);
    // The file may still be good.
    restored = await home.command(["restore", backup], RESTORE_MS);
    if (restored.code !== 0) return [...wrong, `restore FILE: ${line(wordsOf(restored))}`];
  }
  // A run that was open in the backup waits for a decision now: that it is there is enough.
  const open = [...ledger.told.values()].map((told) => isOver(told.status) ? told : { ...told, isGoingOn: true });
  const expected = { ...createLedger(ledger), told: new Map(open.map((told) => [told.id, told])) };
  return [...wrong, ...(await judge(home, expected)).map((text) => `after restore: ${text}`)];
}
