import {
  addSecrets,
  applyChange,
  type Backup,
  backUp,
  claudeCommands,
  ensureHome,
  type FileEdit,
  findClaude,
  hashOf,
  isClaudeRunning,
  type Move,
  openBackups,
  parseConfig,
  parseFile,
  record,
  removeServers,
  replaceFile,
  runClaude,
  runId,
  stillTrue,
  writeConfig,
} from "../../config/mod.ts";
import { AgentCardsError, messageOf, toAgentCardsError } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import type { InitIo, ProbeResult } from "./io.ts";
import { makeTarget, type Plan, type Target } from "./plan.ts";
import { carriedOver } from "./rules.ts";
import { undoCommand } from "./undo_command.ts";

/** What was done. */
export interface Outcome {
  readonly probes: readonly ProbeResult[];
  readonly backups: readonly Backup[];
  /** The clients' files that are different now. */
  readonly changed: readonly string[];
  /** Servers that did not start and stay where they were. */
  readonly kept: readonly string[];
  /** Our files as they were written. */
  readonly targets: Plan["targets"];
  readonly failures: readonly { path: string; reason: string }[];
}

type Left = Pick<Outcome, "kept" | "targets">;

/** Carries a plan out: backup, secrets, our configuration, a first start of every server, then the clients' files. */
export async function applyPlan(plan: Plan, io: InitIo): Promise<Outcome> {
  const done: string[] = [];
  /** Set when the command is to end: the step under way comes to its end, no other begins. */
  let isLeaving = false;
  let underWay: Promise<unknown> = Promise.resolve();
  const step = async <T>(what: string, action: () => Promise<T>): Promise<T> => {
    if (isLeaving) return await new Promise<never>(() => {});
    try {
      const running = action();
      underWay = running.catch(() => {});
      const result = await running;
      done.push(what);
      return result;
    } catch (cause) {
      const so = done.length > 0
        ? `Done before that: ${done.join(", ")}. Take it back with: ${undoCommand(io)}`
        : "Nothing was changed.";
      throw new AgentCardsError("CONFIG_INVALID", `Cannot finish (${what}): ${messageOf(cause)}`, { cause, hint: so });
    }
  };
  const run = { run: runId(), cwd: plan.machine.cwd };
  await step("home", () => ensureHome(io.home));
  const backups = await step("backup", async () => {
    const made: Backup[] = [];
    for (const change of plan.changes) made.push(await backUp(change, io.home, run));
    return made;
  });
  const takeBack = await undoing(plan, backups, io);
  const whenLeft = io.onInterrupt?.(async () => {
    isLeaving = true;
    await underWay;
    await takeBack();
  });
  await step("secrets.env", () => addSecrets(io.home.secrets, plan.secrets));
  await step("config.yaml", () => writeTargets(plan));
  const names = plan.moves.filter(({ target, server }) => target === "global" && !server.disabled).map(({ name }) =>
    name
  );
  const probes = await probe(names, io).catch(async (error) => {
    if (isLeaving) return await new Promise<never>(() => {});
    whenLeft?.();
    await takeBack();
    throw new AgentCardsError("ENGINE_UNREACHABLE", `Cannot move anything: ${messageOf(error)}`, {
      cause: error,
      hint: `Nothing was changed. ${toAgentCardsError(error).hint ?? "`agentcards status` may say more."}`,
    });
  });
  const { kept, targets } = await step("servers that stay", () => leaveFailing(plan, probes, io));
  if (isLeaving) return await new Promise<never>(() => {});
  whenLeft?.();
  // From here on all is done or failed file by file: whoever interrupts waits for the end.
  const whenRewriting = io.onInterrupt?.(() => new Promise<never>(() => {}));
  try {
    return { probes, kept, targets, ...await rewriteClients(backups, { plan, kept, io }) };
  } finally {
    whenRewriting?.();
  }
}

/** Starts each server once. An engine that does not answer is an error: clients are not moved behind it. */
async function probe(servers: readonly string[], io: InitIo): Promise<readonly ProbeResult[]> {
  const probes = await io.probe(servers);
  // Search works without it, by words, and `status` tells why.
  if (servers.length > 0) await io.learn().catch(() => {});
  return probes;
}

/** Makes the function that restores our own files and removes the backups. */
async function undoing(plan: Plan, backups: readonly Backup[], io: InitIo): Promise<() => Promise<void>> {
  const paths = [io.home.secrets, ...Object.values(plan.targets).map(({ path }) => path)];
  const before = await Promise.all(paths.map(async (path) => [path, await bytesOf(path)] as const));
  return async () => {
    for (const [path, bytes] of before) {
      if (bytes) await replaceFile(path, bytes);
      else await fs.remove(path).catch(() => {});
    }
    for (const { dir } of backups) await fs.remove(dir, { recursive: true }).catch(() => {});
  };
}

async function bytesOf(path: string): Promise<Uint8Array | undefined> {
  return await fs.readFile(path).catch((error) => {
    if (fs.isNotFound(error)) return undefined;
    throw error;
  });
}

async function writeTargets({ targets }: Plan): Promise<void> {
  for (const [kind, { path, before, after }] of Object.entries(targets)) {
    if (after !== before) await writeConfig(path, after, kind === "project" ? 0o644 : 0o600);
  }
}

/**
 * What does not start here stays in its client, where it may work; unless the user wants it moved all the same. A server
 * that wants a sign-in has answered.
 */
async function leaveFailing(plan: Plan, probes: readonly ProbeResult[], io: InitIo): Promise<Left> {
  const { moves, targets, movesFailing } = plan;
  const staying = movesFailing ? [] : moves.filter(({ name, target }) => {
    const probe = probes.find((one) => one.server === name);
    return target === "global" && probe !== undefined && !probe.ok && !probe.needs_sign_in;
  });
  const kept = staying.map(({ name }) => name);
  if (kept.length === 0) return { kept, targets };
  const { additions, path, before }: Target = targets.global!;
  const { isShared = false } = additions;
  const servers = Object.fromEntries(Object.entries(additions.servers).filter(([name]) => !kept.includes(name)));
  const start = removeServers(before, await leftBehind(staying, io), path);
  const left = { ...parseConfig(start, path).servers, ...servers };
  const stays = Object.fromEntries(staying.map(({ name, server }) => [name, server]));
  const deny = carriedOver(additions.deny, stays, left);
  const approve = carriedOver(additions.approve, stays, left);
  const allow = additions.allow?.filter((pattern) => !kept.includes(pattern.slice(0, pattern.indexOf(":"))));
  const onlyMoved = { servers, isShared, deny, approve, ...allow && { allow } };
  const { after } = makeTarget(onlyMoved, path, start);
  await writeConfig(path, after);
  return {
    kept,
    targets: { ...targets, global: { path, before, additions: onlyMoved, after } },
  };
}

/** Servers that stay in their client and are in our file only because an earlier `init` was cut off. */
async function leftBehind(staying: readonly Move[], io: InitIo): Promise<string[]> {
  const { backups } = await openBackups(io.home);
  const begun = backups.filter(({ manifest }) => manifest.after === undefined).flatMap(({ manifest }) =>
    manifest.edit.remove.map((item) => `${manifest.path} ${item.name}`)
  );
  return staying.filter(({ isKnown, origins }) =>
    isKnown && origins.some(({ source, name }) => begun.includes(`${source.path} ${name}`))
  ).map(({ name }) => name);
}

interface Rewriting {
  readonly plan: Plan;
  readonly kept: readonly string[];
  readonly io: InitIo;
}

async function rewriteClients(
  backups: readonly Backup[],
  { plan, kept, io }: Rewriting,
): Promise<Omit<Outcome, "probes" | keyof Left>> {
  const staying = plan.moves.filter(({ name }) => kept.includes(name)).flatMap(({ origins }) => origins);
  const result = {
    backups: [] as Backup[],
    changed: [] as string[],
    failures: [] as { path: string; reason: string }[],
  };
  for (const backup of backups) {
    const { path, edit } = backup.manifest;
    const remove = edit.remove.filter(({ keys, name }) =>
      !staying.some(({ source, name: other }) =>
        source.path === path && other === name && source.keys.join("\0") === keys.join("\0")
      )
    );
    try {
      const isForOwnTools = edit.remove.length === 0;
      // Our tools are allowed where our entry is.
      if (isForOwnTools ? !result.changed.some((path) => isOfClaude(path, backups)) : remove.length === 0) {
        await fs.remove(backup.dir, { recursive: true });
        continue;
      }
      const current = remove.length === edit.remove.length
        ? backup
        : await record(backup, { edit: { ...edit, remove } });
      result.backups.push(await changeClient(current, io));
      result.changed.push(path);
    } catch (error) {
      result.backups.push(backup);
      result.failures.push({ path, reason: messageOf(error) });
    }
  }
  return result;
}

function isOfClaude(path: string, backups: readonly Backup[]): boolean {
  return backups.some(({ manifest }) => manifest.path === path && manifest.client === "claude-code");
}

/** A running Claude Code holds its file in memory, so that it has to make the change itself. */
async function changeClient(backup: Backup, io: InitIo): Promise<Backup> {
  const { client, path, edit, cwd } = backup.manifest;
  const program = client === "claude-code" && path.endsWith(".claude.json") ? await claudeToAsk(io) : undefined;
  if (!program) return await applyChange(backup);
  const now = parseFile(await fs.readTextFile(path), "json");
  await runClaude(claudeCommands(stillTrue(edit as FileEdit, now), now), { program, cwd, env: io.env });
  return await record(backup, { after: await hashOf(await fs.readFile(path)) });
}

/** The `claude` program, when it is running and has to be asked. */
export async function claudeToAsk(io: InitIo): Promise<string | undefined> {
  const isRunning = io.machine?.isClaudeRunning ?? (() => isClaudeRunning(io.machine?.os));
  return await isRunning() ? await findClaude(io.env) : undefined;
}
