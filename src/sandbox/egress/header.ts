// Reads the first line of a connection to the egress proxy, which says who connects and where to. Its size and
// time are bounded, because any program may write it.

import type { Socket } from "node:net";
import { isObject } from "../../model/index.ts";

export interface Header {
  /** The secret that only the relay of this proxy knows. */
  readonly token: string;
  /** Empty with port 0: the relay announces itself. */
  readonly host: string;
  /** 0: only looks the name up. */
  readonly port: number;
}

/** Enough for the longest name with every character escaped. */
const MAX_BYTES = 2048;

/** Leaves the socket paused, with the bytes after the line unread. `timeout` and `closed` need no answer. */
export function readHeader(
  socket: Socket,
  timeoutMs: number,
): Promise<Header | "malformed" | "timeout" | "closed"> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const timer = setTimeout(() => settle("timeout"), timeoutMs);
    const onData = (chunk: Buffer): void => {
      const end = chunk.indexOf(0x0a);
      length += end === -1 ? chunk.length : end;
      if (length > MAX_BYTES) return settle("malformed");
      if (end === -1) {
        chunks.push(chunk);
        return undefined;
      }
      chunks.push(chunk.subarray(0, end));
      settle(parseHeader(Buffer.concat(chunks)));
      if (end + 1 < chunk.length) socket.unshift(chunk.subarray(end + 1));
      return undefined;
    };
    const onClose = (): void => settle("closed");
    const settle = (result: Header | "malformed" | "timeout" | "closed"): void => {
      clearTimeout(timer);
      socket.pause();
      socket.off("data", onData).off("end", onClose).off("close", onClose);
      resolve(result);
    };
    socket.on("data", onData).on("end", onClose).on("close", onClose).resume();
  });
}

function parseHeader(line: Buffer): Header | "malformed" {
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    if (!isObject(value)) return "malformed";
    const { token, host, port } = value;
    if (typeof token !== "string" || typeof host !== "string" || typeof port !== "number") return "malformed";
    return Number.isInteger(port) && port >= 0 && port < 65_536 ? { token, host, port } : "malformed";
  } catch {
    return "malformed";
  }
}
