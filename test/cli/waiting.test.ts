// Waits with an empty event loop: the command and a program continue to the end, and report the result.

import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { portolan } from "../helpers/cli.ts";
import { smallPlace } from "../helpers/small-drivers.ts";

const run = promisify(execFile);
const urlOf = (file: string): string => JSON.stringify(pathToFileURL(resolve(file)).href);

const UNREFERENCED_TIMERS =
  "data:text/javascript,const start=setTimeout;globalThis.setTimeout=(...given)=>start(...given).unref()";

test("a server that refuses every request is reported, by commands and by the library", async () => {
  const server = createServer((_, response) => void response.writeHead(405, { connection: "close" }).end());
  onTestFinished(() => void server.close());
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const here = smallPlace();
  // The third back-off is longer than all other timers.
  const lines = `network: { egress: ["${host}"] }\nconnection_options: { max_retries: 3 }`;
  const remote = { kind: "remote", url: `http://${host}/mcp`, path: undefined, args: undefined };
  here.driver("r-mcp", lines, remote);
  here.change(".drivers/r-mcp/DRIVER.md", (text) => text.replace("transport: stdio", "transport: http"));
  const program = `import { openWorkspace } from ${urlOf("dist/index.js")};
const workspace = await openWorkspace(".", { watchFiles: false });
const contracts = await workspace.contracts();
await contracts.settled();
console.log(contracts.status()[0].server);
await workspace.close();`;
  const options = { cwd: here.cwd, env: { ...process.env, ...here.env } };
  const [why, ran] = await Promise.all([
    // No timer keeps the process alive here: the command itself stays until it has its result.
    portolan(["why", "r-mcp", "--json"], { ...here, node: ["--import", UNREFERENCED_TIMERS] }),
    run(process.execPath, ["--input-type=module", "--eval", program], options),
  ]);
  expect(why).toMatchObject({ code: 3, err: "" });
  expect(JSON.parse(why.out)).toMatchObject({ driver: "r-mcp", report: { server: "unreachable" } });
  expect(ran.stdout).toBe("unreachable\n");
});
