// Loads the server and the client of the control socket when they are needed: most commands only look for a gateway.

import type { ClientLink, GatewayClient } from "./client/gateway-client.ts";
import type { RemoteWorkspace, RemoteWorkspaceOptions } from "./client/remote-workspace.ts";
import type { RelayOptions } from "./relay/relay.ts";
import type { ControlServer, ControlServerOptions } from "./server/control-server.ts";
import type { RunningGateway } from "./state/find.ts";

/** Makes a gateway controllable by other processes of the same user. */
export async function serveControl(options: ControlServerOptions): Promise<ControlServer> {
  return (await import("./server/control-server.ts")).serveControl(options);
}

/** Connects to a running gateway. */
export async function connectGateway(
  gateway: RunningGateway,
  only?: readonly string[],
): Promise<GatewayClient> {
  return (await import("./client/gateway-client.ts")).connectGateway(gateway, only);
}

/** The servers of a running gateway as a workspace. Closing it leaves the gateway running. */
export async function openRemoteWorkspace(
  gateway: RunningGateway,
  options: RemoteWorkspaceOptions,
): Promise<RemoteWorkspace> {
  return (await import("./client/remote-workspace.ts")).openRemoteWorkspace(gateway, options);
}

/** Connects to a running gateway as an MCP client does. */
export async function connectAsClient(gateway: RunningGateway): Promise<ClientLink> {
  return (await import("./client/gateway-client.ts")).connectAsClient(gateway);
}

/** Relays a client on stdio to a gateway, and to the next one when it ends. */
export async function relay(options: RelayOptions): Promise<void> {
  return (await import("./relay/relay.ts")).relay(options);
}
