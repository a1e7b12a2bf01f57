// Public exports of the audit room.

export { type AuditLog, openAuditLog } from "./audit-log.ts";
export { auditFolders, type AuditFolders, neighbouringLogs } from "./folders.ts";
export { createAuditObserver, syncApproved } from "./observer.ts";
export { type AuditEntry, type AuditFilter, type CalledTools, readCalledTools, readCalls } from "./read.ts";
export { type AuditProblem, type VerifiedChain, verifyAudit } from "./verify.ts";
