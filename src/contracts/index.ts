// Public exports of the contracts room.

export type { AuthOutcome } from "./auth/auth-machine.ts";
export type { AuthState } from "./auth/auth-store.ts";
export {
  type AuthPorts,
  isCheckProblem,
  type PageResult,
  type RunOptions,
  type RunResult,
} from "./auth/login-steps.ts";
export { type Access, checkAccess, SecretGrants, type SecretSubject } from "./auth/secret-grants.ts";
export {
  type CallContext,
  CONTEXT_META,
  type ContextOf,
  DRIVER_META,
  LOCAL_USER,
  OTHERS_META,
} from "./contract/call-context.ts";
export { runExamples } from "./contract/examples.ts";
export { checkContractCall, checkRegistered } from "./check-input.ts";
export { type Contracts, openContracts, type OpenContractsOptions } from "./contracts-upstream.ts";
export {
  defineDriver,
  defineDriverHooks,
  defineSecret,
  defineTool,
  type DriverHandle,
  type DriverHooksHandle,
  type SecretHandle,
  type ToolHandle,
} from "./define/define.ts";
export type {
  BindingDefinition,
  McpDriverDefinition,
  McpServer,
  SecretDefinition,
  ToolContractDefinition,
} from "./define/definitions.ts";
export { mergeEntry } from "./define/merge-entry.ts";
export type { Change, Difference, Step } from "./diff/changes.ts";
export { checkBump } from "./diff/check-version.ts";
export { diffContracts } from "./diff/diff-contracts.ts";
export { diffDrivers } from "./diff/diff-drivers.ts";
export { approvalReason } from "./dispatch/approval.ts";
export type { Audit, AuditEvent, InvokedEvent, ResolvedEvent, SecretEvent } from "./dispatch/audit.ts";
export type {
  Acquirer,
  ApprovalRequest,
  Approve,
  ContractCall,
  Dispatched,
} from "./dispatch/contract-call.ts";
export { failedCall } from "./dispatch/failure.ts";
export type {
  BoundTool,
  BuildArgumentsArgs,
  DriverHooks,
  ExecuteArgs,
  ExpirySigns,
  LoginArgs,
  LoginResult,
  ParseToolResultArgs,
  RefreshArgs,
  RefreshResult,
} from "./driver/bound-tool.ts";
export type { ToolApproval } from "./verification/compare-server.ts";
export type { DriverEntry } from "./driver/driver-registry.ts";
export type { DriverReport } from "./driver/driver-state.ts";
export { hasLogin, processKey } from "./driver/process-key.ts";
export { checkDriver, type RefusedContract } from "./registration/check-driver.ts";
export { checkWorkspace } from "./registration/check-workspace.ts";
export type { Phase, PhaseName, Resolution } from "./routing/route.ts";
