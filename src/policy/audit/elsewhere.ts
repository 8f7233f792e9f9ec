import type { Config } from "../../config/mod.ts";
import { messageOf } from "../../model/mod.ts";
import { SYSTEM_PATH } from "../../platform/mod.ts";
import { Command, unrefTimer } from "../../platform/start.ts";
import { log } from "../../telemetry/mod.ts";
import { appendHead, type Head } from "./heads.ts";

/** A file, or a program that reads a head from its stdin. */
type HeadPlace = NonNullable<Config["audit"]["head_to"]>;

const PATIENCE_MS = 30_000;

/** Sends signed heads to a second place. A place that fails costs no call anything: it is logged. */
export function headSender(place: HeadPlace): (head: Head) => void {
  const failed = (error: unknown) => log("error", "audit_head_not_sent", { reason: messageOf(error) });
  return (head) => {
    try {
      if (typeof place === "string") appendHead(place, head);
      else void pipeTo(place, JSON.stringify(head)).catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}

async function pipeTo({ command, args = [] }: Exclude<HeadPlace, string>, text: string): Promise<void> {
  const child = new Command(command, {
    args: [...args],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
    clearEnv: true,
    env: { PATH: SYSTEM_PATH },
  }).spawn();
  const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  unrefTimer(late as unknown as number);
  try {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(`${text}\n`));
    await writer.close();
    const { code } = await child.status;
    if (code !== 0) throw new Error(`${command} ended with exit code ${code}`);
  } finally {
    clearTimeout(late);
  }
}
