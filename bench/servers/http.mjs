// Echo server for Streamable HTTP on a free port of 127.0.0.1, which it reports to its parent process.
// The path says how to answer: /legacy/json, /legacy/sse, /modern/json, /modern/sse.
//
// Speaks just enough HTTP/1.1 over node:net. node:http would cost about as much CPU per request as the fastest client,
// and so hide the differences between clients behind its own limit.

import { createServer } from "node:net";
import { createEcho } from "./echo.mjs";

const ECHO = { legacy: createEcho("legacy"), modern: createEcho("modern") };

createServer({ noDelay: true }, serve).listen(0, "127.0.0.1", function () {
  process.send({ port: this.address().port });
});
process.on("disconnect", () => process.exit());

function serve(socket) {
  let pending = "";
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk) => {
    pending += chunk.latin1Slice();
    let output = "";
    for (let request; (request = takeRequest(pending)); pending = pending.slice(request.end)) {
      output += respond(request);
    }
    if (output !== "") socket.write(output, "latin1");
  });
}

function takeRequest(text) {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const head = text.slice(0, headEnd);
  const bodyLength = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const end = headEnd + 4 + bodyLength;
  if (text.length < end) return undefined;
  const [method, path] = head.split(" ", 2);
  return { method, path, body: text.slice(headEnd + 4, end), end };
}

function respond({ method, path, body }) {
  if (method !== "POST") return "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Length: 0\r\n\r\n";
  const [, era, form] = path.split("/");
  const answer = ECHO[era](body);
  if (answer === undefined) return "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
  return form === "sse" ? asEvent(answer) : asJson(answer);
}

function asJson(answer) {
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`;
}

// Chunked, as servers send a stream whose length they do not know when it begins.
function asEvent(answer) {
  const event = `event: message\ndata: ${answer}\n\n`;
  const chunks = `${event.length.toString(16)}\r\n${event}\r\n0\r\n\r\n`;
  return `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`;
}
