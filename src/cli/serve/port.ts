// Checks that the gateway can listen at its port, before anything is started for it, and names the gateway that uses the port.

import { createServer } from "node:net";
import { parseUrl, portOf } from "../../base/net/urls.ts";
import { cannotListen, changedError } from "../../errors/index.ts";
import type { CliIo } from "../context.ts";
import { optionFor, workspaceOption } from "../workspace/elsewhere.ts";
import { pathLabeller } from "../workspace/folder.ts";

const OTHER_PORT = "another port (--port 0 chooses a free one)";

/**
 * Throws when the port cannot be listened at. The error of a port in use names the gateway that uses it. `path` is the folder or
 * config file that is to be served; undefined for a server of the command line.
 */
export async function checkPort(
  host: string,
  port: number,
  io: CliIo,
  path: string | undefined,
): Promise<void> {
  const cause = port === 0 ? undefined : await tryToListen(host, port);
  if (cause === undefined) return;
  if (cause.code !== "EADDRINUSE") throw cannotListen(host, port, cause);
  const user = (await io.findAllGateways()).find(({ url }) => portAt(url) === port);
  if (user === undefined)
    throw changedError(cannotListen(host, port, cause), {
      hint: `Another program uses this port. Choose ${OTHER_PORT}.`,
    });
  const isOwn = user.path === path;
  const place = isOwn ? "this workspace" : pathLabeller(io)(user.path);
  const why = `the gateway of ${place} (process ${user.pid}) uses the port`;
  throw changedError(cannotListen(host, port, cause, { why }), {
    hint: isOwn
      ? `You can use the running gateway: portolan status${optionFor(user.path, io)}. To stop it: portolan stop${optionFor(user.path, io)}. To start a second gateway, choose ${OTHER_PORT}.`
      : `Choose ${OTHER_PORT}. Or stop that gateway: portolan stop ${workspaceOption(user.path, io)}`,
    data: { pid: user.pid, path: user.path, url: user.url },
  });
}

function tryToListen(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", resolve);
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

function portAt(text: string | undefined): number | undefined {
  const url = text === undefined ? undefined : parseUrl(text);
  return url && portOf(url);
}
