// An HTTP API with one operation, POST /echo, which gives back the JSON that it gets. Reports its port to its parent process.
//
// Speaks just enough HTTP/1.1 over node:net, for the reason that is told in http.mjs.

import { createServer } from "node:net";

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
    for (let taken; (taken = take(pending)); pending = pending.slice(taken.end)) {
      const { length } = taken.body;
      output += `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${taken.body}`;
    }
    if (output !== "") socket.write(output, "latin1");
  });
}

function take(text) {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0);
  const end = headEnd + 4 + length;
  return text.length < end ? undefined : { body: text.slice(headEnd + 4, end), end };
}
