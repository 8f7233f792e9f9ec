import { isPackageRunner } from "../config/mod.ts";
import { spawnServer } from "../mcp/mod.ts";
import { AgentCardsError, nearest, type ToolResult } from "../model/mod.ts";
import type { Session } from "./session.ts";

const PATIENCE_MS = 10 * 60_000;
const KEPT = 8_000;
const GRACE_MS = 1_000;

/**
 * Runs a program of `checks` in the folder of the session: its exit code says whether all is right there. The folder has
 * to be trusted, since such programs run what lies in it.
 */
export async function runCheck(session: Session, name: string, signal: AbortSignal): Promise<ToolResult> {
  const { config: { checks }, cwd, loaded, shared } = session;
  const check = Object.hasOwn(checks, name) ? checks[name]! : undefined;
  if (!check) {
    const near = nearest(name, Object.keys(checks));
    throw new AgentCardsError("INPUT_INVALID", `There is no check "${name}" in the configuration`, {
      hint: near.length > 0 ? `Nearest: ${near.join(", ")}.` : "The user names programs in the section checks.",
    });
  }
  if (loaded.folder?.trustedBy === undefined) {
    throw new AgentCardsError("CONFIG_UNTRUSTED", `The check "${name}" was not run: ${cwd} is not trusted`, {
      hint: "Run `agentcards trust` in that folder.",
    });
  }
  const { program, env } = session.agentProgram({
    name,
    command: check.command,
    args: check.args ?? [],
    env: check.env,
  });
  // A package runner looks for packages where it stands; a check is about the packages of the folder.
  const isNeutral = !isPackageRunner({ command: program.command, args: program.args });
  const context = { cwd, env, reaper: shared.reaper() };
  const process = await spawnServer({ ...program, name: `check ${name}`, cwd, isNeutral }, context);
  const patienceMs = check.timeout ?? PATIENCE_MS;
  const late = AbortSignal.timeout(patienceMs);
  const stop = () => void process.stop(GRACE_MS);
  const ending = AbortSignal.any([signal, late]);
  ending.addEventListener("abort", stop, { once: true });
  try {
    if (ending.aborted) stop();
    void process.stdin.close().catch(() => {});
    const printed = await tailOf(process.stdout);
    const { code } = await process.exited;
    signal.throwIfAborted();
    const words = session.shared.redactor.redact([printed, await process.lastWords()].filter(Boolean).join("\n"));
    if (late.aborted) return failed(`The check "${name}" did not end within ${patienceMs / 1_000} s. ${words}`);
    if (code !== 0) return failed(`The check "${name}" ended with exit code ${code}. ${words}`);
    return { content: [], structuredContent: { check: name, passed: true, output: words } };
  } finally {
    ending.removeEventListener("abort", stop);
    await process.stop(GRACE_MS);
  }
}

function failed(text: string): ToolResult {
  return { content: [{ type: "text", text: text.trim() }], isError: true };
}

/** The end of what a program prints; all of it is read, so that its writer never waits. */
async function tailOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream() as never)) {
    text = (text + part as string).slice(-KEPT);
  }
  return text.trim();
}
