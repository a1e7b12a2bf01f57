// Public face of the hub room.

export { APPROVAL_ID } from "./approval.ts";
export type { Person } from "./auth-page.ts";
export type { ContextItem } from "./context.ts";
export {
  type ContractEvent,
  EventBus,
  type HubEvent,
  type ServerEvent,
  type ToolEvent,
  type ToolsChangedEvent,
} from "./events.ts";
export type { ServerHealth } from "./health.ts";
export type { ServerState } from "./member.ts";
export { type HubOptions, openHub } from "./open-hub.ts";
export type { WorkspaceConfig } from "./declared.ts";
export type { Hub, OwnName } from "./hub.ts";
export type { OfferedTool } from "./merge.ts";
export { type OpenedWorkspace, openWorkspaceHub, type WorkspaceOptions } from "./opened-workspace.ts";
export { registeredDrivers, rememberDrivers } from "./registered-drivers.ts";
export { registeredContract, rememberContracts } from "./registered-contracts.ts";
export type { HubView, ViewOptions } from "./view.ts";
export { openWorkspace, type Workspace } from "./workspace.ts";
