// Terminal of the session: it answers prompts while stdin is a file or a pipe.

import { closeSync, openSync } from "node:fs";
import { ReadStream } from "node:tty";

/** Windows has no such path. */
const PATH = "/dev/tty";

export function hasTerminal(): boolean {
  const descriptor = open();
  if (descriptor === undefined) return false;
  closeSync(descriptor);
  return true;
}

/** Undefined without a terminal, such as in a service or a job of cron. */
export function openTerminal(): ReadStream | undefined {
  const descriptor = open();
  return descriptor === undefined ? undefined : new ReadStream(descriptor);
}

function open(): number | undefined {
  try {
    return openSync(PATH, "r");
  } catch {
    return undefined;
  }
}
