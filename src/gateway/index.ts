// Public exports of the gateway room.

export { type Access, type AccessOptions, createAccess, openAccess } from "./access/access-file.ts";
export type { BudgetUse } from "./budgets/budgets.ts";
export type { Approvals, ShownApproval } from "./approval/approvals.ts";
export { checkSettings, unmatchedPatterns } from "./access/check-settings.ts";
export { createApprovalPolicy, undecidableRules } from "./approval/policy.ts";
export type {
  ApprovalDecision,
  ApprovalRequest,
  ApproveCall,
  Verdict,
  WaitingCall,
} from "./approval/types.ts";
export {
  type CreateSite,
  type Gateway,
  type GatewayOptions,
  openGateway,
  type OpenedGateway,
} from "./gateway.ts";
export { checkReferences, checkTls } from "./check-start.ts";
export { checkGatewayOptions } from "./options.ts";
export type { ReloadOutcome } from "./reload.ts";
export { type CallerAccess, createToolFilter } from "./access/tool-filter.ts";
export type { FilteredTool } from "./access/types.ts";
export type { NoteRefusal } from "./access/refusal-events.ts";
export { EventWriter } from "./http/event-writer.ts";
export type { Site } from "./http/handler.ts";
export type { HttpRequest, HttpResponse } from "./http/responses.ts";
