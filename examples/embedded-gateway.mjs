// A gateway inside of another program: the server keeps its own pages, and serves MCP under /tools.

import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { connectMcp } from "portolan";
import { openGateway } from "portolan/gateway";

const token = "a-long-random-token-that-only-your-clients-know";
const workspace = fileURLToPath(new URL("quickstart", import.meta.url));

// Clients learn of slow servers later. The one below lists the tools once, so that this program waits for all servers.
const gateway = await openGateway(workspace, { path: "/tools", access: { token }, waitFor: "all" });

const server = createServer((request, response) => {
  if (request.url?.startsWith("/tools/")) gateway.handle(request, response);
  else response.end("Hello from the program itself.");
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${server.address().port}`;

console.log("its own page:", await (await fetch(url)).text());

const client = await connectMcp({
  transport: "http",
  url: `${url}/tools/mcp`,
  headers: { authorization: `Bearer ${token}` },
});
const { text } = await client.callTool("mcp_everything_get-sum", { a: 2, b: 40 });
console.log("over HTTP:", text);
await client.close();

// Runtimes and frameworks with the Fetch API pass a Request and get a Response.
const health = await gateway.fetch(new Request("http://localhost/tools/healthz"));
console.log("over fetch:", health.status, await health.text());

await gateway.close();
server.close();
