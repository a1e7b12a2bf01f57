// Public exports of the control room.

export type { ClientLink, GatewayClient } from "./client/gateway-client.ts";
export type { RemoteWorkspace, RemoteWorkspaceOptions } from "./client/remote-workspace.ts";
export { connectAsClient, connectGateway, openRemoteWorkspace, relay, serveControl } from "./load.ts";
export type { GatewayFacts, ReloadResult, SandboxResult } from "./messages.ts";
export type { IncomingRequest as ControlRequest } from "./peer.ts";
export type { ControlServer } from "./server/control-server.ts";
export { ControlSession } from "./server/session.ts";
export {
  type EndedGateway,
  findAllGateways,
  findGateways,
  forgetEnded,
  type FoundGateways,
  type RunningGateway,
} from "./state/find.ts";
export { logFolder, unwritableFolder } from "./state/folders.ts";
