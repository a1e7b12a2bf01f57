import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { RunningGateway } from "../../control/index.ts";
import type { CliIo } from "../context.ts";
import { checkPort } from "./port.ts";

const HOST = "127.0.0.1";

async function usedPort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const withGateways = (...gateways: Partial<RunningGateway>[]): CliIo =>
  ({
    ...{ cwd: "/elsewhere", env: { HOME: "/home/me" }, platform: "linux" },
    findAllGateways: async () => gateways,
  }) as unknown as CliIo;

test("checkPort refuses a port in use, and names the command that stops the gateway at the port", async () => {
  const port = await usedPort();
  const own = { path: "/home/me/notes", url: `http://${HOST}:${port}/mcp`, pid: 7 };
  const other = { path: "/home/me/other", url: `http://${HOST}:1/mcp` };
  const io = withGateways({ path: "/stdio" }, other, own);
  await expect(checkPort(HOST, port, io, "/elsewhere")).rejects.toMatchObject({
    message: `Cannot listen at ${HOST}:${port}: the gateway of ~/notes (process 7) uses the port.`,
    hint: "Choose another port (--port 0 chooses a free one). Or stop that gateway: portolan stop -w ~/notes",
    data: { pid: 7, path: "/home/me/notes" },
  });
  await expect(checkPort(HOST, port, io, "/home/me/notes")).rejects.toMatchObject({
    message: expect.stringContaining("the gateway of this workspace (process 7)") as string,
    hint: expect.stringContaining("To stop it: portolan stop -w ~/notes.") as string,
  });
  await expect(checkPort(HOST, port, withGateways(other), undefined)).rejects.toMatchObject({
    message: `Cannot listen at ${HOST}:${port}: the port is in use.`,
    hint: expect.stringMatching(/Another program uses this port.*--port 0 chooses a free one/) as string,
  });
});

test("checkPort accepts a free port, and port 0", async () => {
  const server = createServer().listen(0, HOST);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  await checkPort(HOST, port, withGateways(), undefined);
  await checkPort(HOST, 0, withGateways(), undefined);
});
