// Public surface of the hub room.

import type * as packaged from "./processes/packaged-server.ts";

export {
  APPROVAL_ID,
  contractApprovalMessage,
  elicitApproval,
  type ShownArguments,
  shownArguments,
  withRest,
} from "./drivers/approval.ts";
export type { Person } from "./drivers/login-page.ts";
export { type Bridge, createBridge } from "./workspace/bridge.ts";
export type { ContextItem } from "./workspace/context.ts";
export {
  type ApprovalEvent,
  type BudgetExceededEvent,
  type CallRefusedEvent,
  type ConfigReloadedEvent,
  type ContractEvent,
  EventBus,
  type GatewayRefusedEvent,
  type GatewayReloadedEvent,
  type HubEvent,
  type LoopStoppedEvent,
  type PinsComparedEvent,
  type SandboxDeniedEvent,
  type SandboxPathDeniedEvent,
  type SandboxRelaxedEvent,
  type ServerEvent,
  type ToolEvent,
  type ToolsChangedEvent,
  type WorkspaceEvents,
} from "./events.ts";
export { driverKey } from "./pins/pin-book.ts";
export { healthOf, isFirstStart, type ServerHealth } from "./member/health.ts";
export { tagsOfTool } from "./member/tool-tags.ts";
export { readKeptInventory } from "./member/inventory-store.ts";
export type { LogLine } from "./member/stderr-log.ts";
export type { ServerState } from "./member/member.ts";
export type { HubUser } from "./member/user-members.ts";
export { type HubOptions, openHub } from "./open-hub.ts";
export type {
  BridgeManifest,
  AnyWorkspaceSource,
  WorkspaceConfig,
  WorkspaceFields,
  WorkspaceSource,
} from "./workspace/config.ts";
export { WORKSPACE_OPTIONS } from "./workspace/options.ts";
export type { LivePin, PinDifference, PinHealth, ServerPins } from "./pins/pin-report.ts";
export { readPins } from "./pins/read-pins.ts";
export type { Hub, OwnName } from "./hub.ts";
export type { LoginOffer, LoginWanted, OfferLogin } from "./views/login-offer.ts";
export type { CallCheck, RoutedCall, SendCall } from "./views/call-checks.ts";
export type { ViewTool } from "./views/merge.ts";
export { hasDriverOrContract } from "./views/naming.ts";
export type { Hidden } from "./views/routing.ts";
export { type OpenedWorkspace, openWorkspaceHub } from "./workspace/workspace-hub.ts";
export type { WorkspaceHubOptions, WorkspaceOptions } from "./workspace/workspace-options.ts";
export {
  registeredContract,
  registeredDrivers,
  rememberContracts,
  rememberDrivers,
} from "./drivers/registrations.ts";
export type { HubView, ViewOptions } from "./views/view.ts";
export {
  checkHealth,
  openWorkspace,
  openWorkspaceWith,
  readHealth,
  type Workspace,
} from "./workspace/workspace.ts";

// Loaded on first use, because few programs need it.

export const readPackagedServer: typeof packaged.readPackagedServer = async (...args) =>
  (await import("./processes/packaged-server.ts")).readPackagedServer(...args);
