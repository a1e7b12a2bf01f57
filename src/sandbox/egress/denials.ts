// Reports refused connections as they happen, as printable text and at a bounded rate.

import type { Denied } from "../../model/index.ts";

const PER_SECOND = 200;

export function createDenials(
  server: string,
  onDenied: (denied: Denied) => void,
): (host: string, port: number, reason: string, grant?: string) => void {
  let [second, reported, omitted] = [0, 0, 0];
  return (host, port, reason, grant) => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, reported] = [now, 0];
    if (reported >= PER_SECOND) {
      omitted += 1;
      return;
    }
    reported += 1;
    const more = omitted === 0 ? "" : ` (and ${omitted} more before it)`;
    omitted = 0;
    const rule = grant === undefined ? {} : { grant };
    onDenied({ server, host: printable(host), port, reason: `${reason}${more}`, ...rule });
  };
}

/** The server chooses the host name, which may contain control characters for a terminal. */
function printable(host: string): string {
  return host
    .slice(0, 255)
    .replace(/[^\x21-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
