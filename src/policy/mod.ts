// The door of this room: other rooms import this file only.
export { judgeAddress } from "./address.ts";
export { denied } from "./denied.ts";
export { effectOf } from "./effects.ts";
export { type Hidden, hidePii, readPatterns, restorePii } from "./pii.ts";
export { forbiddenOwnTool, judge, type Verdict } from "./rules.ts";
export { costOf, maySpeculate } from "./speculation.ts";
export { type Audit, type AuditOptions, type AuditState, openAudit } from "./audit/audit.ts";
export { readRows, toOcsf } from "./audit/export.ts";
export { type Head, parseHead, readHeads } from "./audit/heads.ts";
export type { AuditEvent, AuditKind, AuditRow } from "./audit/row.ts";
export { type Finding, type Verification, verifyAudit } from "./audit/verify.ts";
export { headSender } from "./audit/elsewhere.ts";
export { lintDefinition, type LintFinding, lintServerName, type Surroundings } from "./lint/lint.ts";
