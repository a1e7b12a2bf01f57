// Checks that the gateway can listen at its port, before anything is started for it.

import { createServer } from "node:net";
import { cannotListen, changedError } from "../../errors/index.ts";
import type { CliIo } from "../context.ts";
import { workspaceOption } from "../workspace/elsewhere.ts";

/** Throws when the port cannot be listened at. The hint names the gateway that uses it. */
export async function checkPort(host: string, port: number, io: CliIo): Promise<void> {
  if (port === 0) return;
  const cause = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const server = createServer();
    server.once("error", resolve);
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
  if (cause === undefined) return;
  const error = cannotListen(host, port, cause);
  const used = cause.code === "EADDRINUSE" ? await io.findAllGateways() : [];
  const owner = used.find(({ url }) => url !== undefined && new URL(url).port === String(port));
  if (owner === undefined) throw error;
  const option = workspaceOption(owner.path, io);
  throw changedError(error, {
    hint: `A gateway of Portolan uses it; portolan stop ${option} stops that one. Or choose another port: --port 0 is any free one.`,
  });
}
