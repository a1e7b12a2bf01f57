// The HTTP server behind mcpfile.yaml. Prints one line, `listening on <url>`.

import { createServer } from "node:http";
import { PNG, WAV } from "./server/content.mjs";

const FILES = {
  "/image": ["image/png", Buffer.from(PNG, "base64")],
  "/audio": ["audio/wav", Buffer.from(WAV, "base64")],
  "/file": ["application/octet-stream", Buffer.from("This is an embedded resource content.")],
};

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://localhost");
  const file = FILES[pathname];
  if (file !== undefined) return response.writeHead(200, { "content-type": file[0] }).end(file[1]);
  if (pathname === "/echo") {
    response.writeHead(200, { "content-type": "application/json" });
    return request.pipe(response);
  }
  const id = /^\/data\/([^/]+)$/.exec(pathname)?.[1];
  if (id === undefined) return response.writeHead(404).end();
  const data = { id: decodeURIComponent(id), templateTest: true, data: `Data for ID: ${id}` };
  return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(data));
});

server.listen(0, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
process.on("SIGTERM", () => process.exit(0));
