// Public surface of the hub room.

export { APPROVAL_ID } from "./drivers/approval.ts";
export type { Person } from "./drivers/login-page.ts";
export type { ContextItem } from "./workspace/context.ts";
export {
  type ContractEvent,
  EventBus,
  type HubEvent,
  type PinsComparedEvent,
  type ServerEvent,
  type ToolEvent,
  type ToolsChangedEvent,
} from "./events.ts";
export type { ServerHealth } from "./member/health.ts";
export type { ServerState } from "./member/member.ts";
export { type HubOptions, openHub } from "./open-hub.ts";
export type { WorkspaceConfig } from "./workspace/config.ts";
export type { LivePin, PinDifference, PinHealth, ServerPins } from "./pins/pin-report.ts";
export type { Hub, OwnName } from "./hub.ts";
export type { ViewTool } from "./views/merge.ts";
export { type OpenedWorkspace, openWorkspaceHub, type WorkspaceOptions } from "./workspace/workspace-hub.ts";
export {
  registeredContract,
  registeredDrivers,
  rememberContracts,
  rememberDrivers,
} from "./drivers/registrations.ts";
export type { HubView, ViewOptions } from "./views/view.ts";
export { openWorkspace, type Workspace } from "./workspace/workspace.ts";
