// A JSON answer over HTTP. A request whose body has not arrived yet is answered without reading on, and its connection closes.

import type { ServerResponse } from "node:http";
import { isUnread } from "./body.ts";
import { endOrDrop } from "./event-writer.ts";

type Headers = Readonly<Record<string, string>>;

/** How long a client has to read the answer before its connection is cut. */
const CLOSE_MS = 1_000;

export function sendJson(response: ServerResponse, status: number, text: string, headers?: Headers): void {
  if (!isUnread(response.req)) return send(response, status, text, headers);
  // A short body comes in the same packet as its headers: then nothing is left to read, and the connection can stay.
  setImmediate(() => {
    if (isUnread(response.req)) sendAndClose(response, status, text, headers);
    else send(response, status, text, headers);
  });
}

function send(response: ServerResponse, status: number, text: string, headers: Headers | undefined): void {
  const own = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  response.writeHead(status, headers === undefined ? own : { ...own, ...headers });
  endOrDrop(response, text);
}

/** Not with `end()`: after that, Node.js reads the rest of the request, however long it is. */
function sendAndClose(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Headers | undefined,
): void {
  if (response.destroyed) return;
  const own = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  response.writeHead(status, { ...own, ...headers, connection: "close" });
  response.write(text, () => response.socket?.end());
  // Unread bytes would make the system reset the connection at once, and the client might never see the answer.
  const cut = setTimeout(() => response.destroy(), CLOSE_MS).unref();
  response.on("close", () => clearTimeout(cut));
}
