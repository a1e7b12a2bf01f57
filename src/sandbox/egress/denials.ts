// Tells of denied attempts at once, in printable words, and not more often than anyone could read them.

import type { Denied } from "../../model/index.ts";

const PER_SECOND = 200;

export function createDenials(
  server: string,
  onDenied: (denied: Denied) => void,
): (host: string, port: number, reason: string, grant?: string) => void {
  let [second, told, untold] = [0, 0, 0];
  return (host, port, reason, grant) => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, told] = [now, 0];
    if (told >= PER_SECOND) {
      untold += 1;
      return;
    }
    told += 1;
    const more = untold === 0 ? "" : ` (and ${untold} more before it)`;
    untold = 0;
    const rule = grant === undefined ? {} : { grant };
    onDenied({ server, host: printable(host), port, reason: `${reason}${more}`, ...rule });
  };
}

/** A host as a server wrote it may hold anything, such as codes that repaint a terminal. */
function printable(host: string): string {
  return host
    .slice(0, 255)
    .replace(/[^\x21-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
