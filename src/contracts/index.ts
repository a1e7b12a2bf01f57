// Public face of the contracts room.

export type { ArgumentPlan, Route } from "./arguments.ts";
export type { Audit, AuditEvent, InvokedEvent, ResolvedEvent, SecretEvent } from "./audit.ts";
export type { AuthOutcome, AuthTransition } from "./auth.ts";
export type { AuthPorts, RunOptions } from "./auth-steps.ts";
export type { AuthRecord, AuthStore } from "./auth-store.ts";
export type { AuthState, DriverStatus } from "./capability.ts";
export { CONTEXT_META, type ContextOf } from "./context-of.ts";
export type { ContractsOptions, DriverEntry } from "./contracts.ts";
export { type Contracts, openContracts, type OpenContractsOptions } from "./contracts-upstream.ts";
export {
  defineDriver,
  defineSecret,
  defineTool,
  type DriverHandle,
  type SecretHandle,
  type ToolHandle,
} from "./define.ts";
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
} from "./define-types.ts";
export { checkWorkspace, type WorkspaceParts } from "./check-workspace.ts";
export { checkBump } from "./diff.ts";
export { diffContracts } from "./diff-contracts.ts";
export { diffDrivers } from "./diff-drivers.ts";
export type { Change, Difference, Step } from "./diff-steps.ts";
export { failedCall } from "./dispatch.ts";
export type { Acquirer, Approve, ApprovalRequest, ContractCall, Dispatched } from "./dispatch-types.ts";
export type { DriverReport } from "./driver-report.ts";
export { type ExampleOptions, type ExampleOutcome, runExamples } from "./examples.ts";
export { mergeEntry, type MergedEntry } from "./merge-entry.ts";
export type { ContractPolicy } from "./policy.ts";
export { hasLogin, processKey } from "./process-key.ts";
export { type CheckedDriver, checkDriver, type CheckOptions } from "./registration.ts";
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
} from "./resolver.ts";
export {
  type Access,
  checkAccess,
  type FetchSecret,
  SecretGrants,
  type SecretSubject,
} from "./secret-grants.ts";
export type { Acquire } from "./server-checks.ts";
export { DRIVER_META, OTHERS_META } from "./to-mcp.ts";
export { LOCAL_USER } from "./types.ts";
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
} from "./types.ts";
