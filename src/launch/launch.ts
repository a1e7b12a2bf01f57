// From a server definition to a running program. Nothing else in this house starts a server.

import type { StdioEndpoint } from "../model/index.ts";
import { ChildGroup } from "./process/child.ts";
import { childEnvironment } from "./process/child-env.ts";

export interface LaunchRequest {
  readonly server: string;
  readonly endpoint: Omit<StdioEndpoint, "transport">;
  readonly onStderr?: ((text: string) => void) | undefined;
}

export async function launch({ server, endpoint, onStderr }: LaunchRequest): Promise<ChildGroup> {
  const spawnable = {
    file: endpoint.command,
    args: endpoint.args ?? [],
    env: childEnvironment(endpoint.env),
    cwd: endpoint.cwd,
    fds: [],
    spawned: () => {},
    ended: () => {},
  };
  return ChildGroup.start(spawnable, server, onStderr);
}
