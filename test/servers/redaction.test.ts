// Credentials of a server config are redacted in errors, whoever repeats them.

import { createServer } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { connectMcp } from "../../src/index.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { connectUrl, failure } from "../helpers/connect.ts";

it("an HTTP error page that repeats the request headers is redacted", async () => {
  const server = createServer((request, response) => {
    response.writeHead(500).end(`no luck: ${JSON.stringify(request.headers)}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const error = await failure(
    connectUrl(`http://127.0.0.1:${port}/mcp`, { headers: { Authorization: "Bearer canary-1234567" } }),
  );
  expect(error.code).toBe("HTTP_ERROR");
  expect(String(error.data.body)).toContain("[redacted]");
  expect(JSON.stringify(error) + error.stack).not.toContain("canary-1234567");
});

it("the stderr of a server that prints its environment is redacted", async () => {
  const script = "console.error(JSON.stringify(process.env)); process.exit(1)";
  const env = { API_TOKEN: "canary-7654321", MODE: "plain-value" };
  const config = { transport: "stdio", command: process.execPath, args: ["-e", script], env } as const;
  const error = await failure(connectMcp(config));
  expect(error.stderr).toContain("plain-value");
  expect(JSON.stringify(error)).not.toContain("canary-7654321");
});

it("secrets in the arguments of a server are not part of its name", async () => {
  const { command, args } = stdioCommand("--fault=exit-at-start");
  const error = await failure(
    connectMcp({ transport: "stdio", command, args: [...args, "--name=canary-1112223"] }),
  );
  expect(JSON.stringify(error)).not.toContain("canary-1112223");
});
