import { applyChange, stillTrue } from "../config/clients/apply.ts";
import { type Backup, backUp, hashOf, record, runId } from "../config/clients/backup.ts";
import { claudeCommands, findClaude, isClaudeRunning, runClaude } from "../config/clients/claude_cli.ts";
import { parseFile } from "../config/clients/parse.ts";
import type { FileEdit } from "../config/clients/rewrite.ts";
import { ensureHome } from "../config/home.ts";
import { addSecrets } from "../config/secrets.ts";
import { writeConfig } from "../config/write.ts";
import { AgentCardsError, messageOf } from "../model/errors.ts";
import type { InitIo, ProbeResult } from "./init_io.ts";
import { makeTarget, type Plan, type Target } from "./init_plan.ts";
import { undoCommand } from "./init_show.ts";

/** What was done. */
export interface Outcome {
  readonly probes: readonly ProbeResult[];
  readonly backups: readonly Backup[];
  /** The clients' files that are different now. */
  readonly changed: readonly string[];
  /** Servers that turned out to want a sign-in and stay where they were. */
  readonly kept: readonly string[];
  readonly failures: readonly { path: string; reason: string }[];
}

/** Carries a plan out: backup, secrets, our configuration, a first start of every server, then the clients' files. */
export async function applyPlan(plan: Plan, io: InitIo): Promise<Outcome> {
  const done: string[] = [];
  const step = async <T>(what: string, action: () => Promise<T>): Promise<T> => {
    try {
      const result = await action();
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
  await step("secrets.env", () => addSecrets(io.home.secrets, plan.secrets));
  await step("config.yaml", () => writeTargets(plan));
  const names = plan.moves.filter(({ target, server }) => target === "global" && !server.disabled).map(({ name }) =>
    name
  );
  const probes = await probe(names, io);
  const kept = await step("sign-ins", () => leaveSignIns(plan, probes));
  return { probes, kept, ...await rewriteClients(backups, { plan, kept, io }) };
}

async function probe(servers: readonly string[], io: InitIo): Promise<readonly ProbeResult[]> {
  if (servers.length === 0) return [];
  try {
    const probes = await io.probe(servers);
    // Search works without it, by words, and `status` tells why.
    await io.learn().catch(() => {});
    return probes;
  } catch (error) {
    // The servers could not be tried at all: they are configured, and `status` will tell.
    return servers.map((server) => ({ server, ok: false, tools: 0, tokens: 0, ms: 0, error: messageOf(error) }));
  }
}

async function writeTargets({ targets }: Plan): Promise<void> {
  for (const [kind, { path, before, after }] of Object.entries(targets)) {
    if (after !== before) await writeConfig(path, after, kind === "project" ? 0o644 : 0o600);
  }
}

/** A remote server that answers 401 wants an OAuth sign-in that only its client can do. */
async function leaveSignIns({ moves, targets }: Plan, probes: readonly ProbeResult[]): Promise<string[]> {
  const wants = ({ ok, error }: ProbeResult) => !ok && /\b401\b|unauthori[sz]ed|\boauth\b/i.test(error ?? "");
  const kept = moves.filter(({ name, server, isKnown, target }) =>
    target === "global" && !isKnown && server.url && !hasCredential(server) &&
    probes.some((probe) => probe.server === name && wants(probe))
  ).map(({ name }) => name);
  if (kept.length === 0) return kept;
  const { additions, path, before }: Target = targets.global!;
  const servers = Object.fromEntries(Object.entries(additions.servers).filter(([name]) => !kept.includes(name)));
  const isKept = (pattern: string) => kept.some((name) => pattern.startsWith(`${name}:`));
  const deny = additions.deny.filter((pattern) => !isKept(pattern));
  const approve = additions.approve.filter((pattern) => !isKept(pattern));
  await writeConfig(path, makeTarget({ servers, deny, approve }, path, before).after);
  return kept;
}

function hasCredential({ headers, url }: { headers?: Record<string, string>; url?: string }): boolean {
  return /\$\{/.test(url ?? "") || Object.keys(headers ?? {}).some((name) => /auth|key|token|cookie/i.test(name));
}

interface Rewriting {
  readonly plan: Plan;
  readonly kept: readonly string[];
  readonly io: InitIo;
}

async function rewriteClients(
  backups: readonly Backup[],
  { plan, kept, io }: Rewriting,
): Promise<Omit<Outcome, "probes" | "kept">> {
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
      if (remove.length === 0) {
        await Deno.remove(backup.dir, { recursive: true });
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

/** A running Claude Code holds its file in memory, so that it has to make the change itself. */
async function changeClient(backup: Backup, io: InitIo): Promise<Backup> {
  const { client, path, edit, cwd } = backup.manifest;
  const program = client === "claude-code" && path.endsWith(".claude.json") ? await claudeToAsk(io) : undefined;
  if (!program) return await applyChange(backup);
  const now = parseFile(await Deno.readTextFile(path), "json");
  await runClaude(claudeCommands(stillTrue(edit as FileEdit, now), now), { program, cwd, env: io.env });
  return await record(backup, { after: await hashOf(await Deno.readFile(path)) });
}

/** The `claude` program, when it is running and has to be asked. */
export async function claudeToAsk(io: InitIo): Promise<string | undefined> {
  const isRunning = io.machine?.isClaudeRunning ?? (() => isClaudeRunning(io.machine?.os));
  return await isRunning() ? await findClaude(io.env) : undefined;
}
