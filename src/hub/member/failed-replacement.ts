// A new generation of a server that could not start, while the earlier one continues to serve.

import type { ErrorCode } from "../../errors/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import type { Member } from "./member.ts";

export interface FailedReplacement {
  /** The config that is not in use; of a restart, the one that is. */
  readonly config: ServerConfig;
  readonly code: ErrorCode;
  /** Which process serves, and why the new one does not. */
  readonly message: string;
  readonly hint: string;
}

/** Undefined if the new generation has no error. */
export function describeFailedReplacement(
  { alias, isOfProgram }: Pick<Member, "alias" | "isOfProgram">,
  next: Member,
  why: "config" | "restart",
): FailedReplacement | undefined {
  const { error } = next.lastError;
  if (error === undefined) return undefined;
  const cause = next.lastError.reason().reason ?? error.message;
  const message =
    why === "config"
      ? `${alias} runs with its earlier configuration, because it could not start with the new one: ${cause}`
      : `${alias} was not restarted, and its earlier process continues to run, because the new process failed: ${cause}`;
  const hint = `${error.hint}${isOfProgram ? "" : commandsFor(alias, error.code)}`;
  return { config: next.config, code: error.code, message, hint };
}

function commandsFor(alias: string, code: ErrorCode): string {
  const again = ` To try again: portolan restart ${alias}.`;
  const isProcess = code === "SERVER_START_FAILED" || code === "SERVER_CRASHED";
  return isProcess
    ? `${again} If two processes of this server cannot run at the same time: portolan restart ${alias} --stop-first.`
    : again;
}
