// Public face of the contracts room.

export type { ArgumentPlan, Route } from "./dispatch/arguments.ts";
export type { Audit, AuditEvent, InvokedEvent, ResolvedEvent, SecretEvent } from "./dispatch/audit.ts";
export type { AuthOutcome, AuthTransition } from "./auth/auth-machine.ts";
export type { AuthPorts, RunOptions } from "./auth/login-steps.ts";
export type { AuthRecord, AuthStore } from "./auth/auth-store.ts";
export type { AuthState, DriverStatus } from "./routing/capability.ts";
export { CONTEXT_META, type ContextOf } from "./contract/call-context.ts";
export type { ContractsOptions, DriverEntry } from "./contract-set.ts";
export { type Contracts, openContracts, type OpenContractsOptions } from "./contracts-upstream.ts";
export {
  defineDriver,
  defineSecret,
  defineTool,
  type DriverHandle,
  type SecretHandle,
  type ToolHandle,
} from "./define/define.ts";
export type {
  AnySchema,
  AuthDefinition,
  BindingDefinition,
  McpDriverDefinition,
  McpPrompt,
  McpResource,
  McpServer,
  SecretDefinition,
  ToolContractDefinition,
} from "./define/definitions.ts";
export { checkWorkspace, type WorkspaceParts } from "./registration/check-workspace.ts";
export { checkBump } from "./diff/check-version.ts";
export { diffContracts } from "./diff/diff-contracts.ts";
export { diffDrivers } from "./diff/diff-drivers.ts";
export type { Change, Difference, Step } from "./diff/changes.ts";
export { failedCall } from "./dispatch/dispatch.ts";
export type {
  Acquirer,
  Approve,
  ApprovalRequest,
  ContractCall,
  Dispatched,
} from "./dispatch/contract-call.ts";
export type { DriverReport } from "./driver/driver-report.ts";
export { type ExampleOptions, type ExampleOutcome, runExamples } from "./contract/examples.ts";
export { mergeEntry, type MergedEntry } from "./define/merge-entry.ts";
export type { ContractPolicy } from "./routing/policy.ts";
export { hasLogin, processKey } from "./driver/process-key.ts";
export { type CheckedDriver, checkDriver, type CheckOptions } from "./registration/check-driver.ts";
export type {
  Candidate,
  Phase,
  PhaseName,
  Rejection,
  Resolution,
  RouteFailure,
  RouteRequest,
  RouteState,
  Service,
} from "./routing/route.ts";
export {
  type Access,
  checkAccess,
  type FetchSecret,
  SecretGrants,
  type SecretSubject,
} from "./auth/secret-grants.ts";
export type { Acquire } from "./verification/verifier.ts";
export { DRIVER_META, OTHERS_META } from "./contract/to-mcp.ts";
export { LOCAL_USER } from "./driver/bound-tool.ts";
export type {
  BoundTool,
  BuildArgumentsArgs,
  CallContext,
  DriverContext,
  DriverHooks,
  ExecuteArgs,
  ExpirySigns,
  LoginArgs,
  LoginResult,
  ParseToolResultArgs,
  RefreshResult,
} from "./driver/bound-tool.ts";
