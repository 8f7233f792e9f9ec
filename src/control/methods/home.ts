import { describe } from "../../model/mod.ts";
import { fs, system } from "../../platform/start.ts";
import type { Method } from "../context.ts";

export const backup: Method<"backup"> = async ({ gateway }, { path }) => {
  await (await gateway.database()).backup(path);
  return { bytes: (await fs.stat(path)).size };
};

/** Whoever reads the audit out is told in it. */
export const auditExport: Method<"audit_export"> = ({ gateway }, { format }) => {
  gateway.audit.append({ kind: "export", by: "human", format });
  return Promise.resolve({});
};

export const acceptDatabase: Method<"accept_database"> = async ({ gateway }) => {
  const state = await (await gateway.database()).accept();
  return { problem: state.kind === "unusable" ? describe(state.problem) : null };
};

export const acceptSandbox: Method<"accept_sandbox"> = async ({ gateway }) => ({
  level: await gateway.code.level.accept(),
});

export const stop: Method<"stop"> = ({ stop }) => {
  // The answer goes out first.
  setTimeout(stop, 10);
  return Promise.resolve({ pid: system.pid });
};
