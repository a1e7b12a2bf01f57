// A server that serves although it could not start again: its new generation failed, or its secrets cannot be read any more.

import type { ErrorCode, PortolanError } from "../../errors/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import type { Member } from "./member.ts";

export interface FailedReplacement {
  /** The config that is not in use; of a restart or of secrets, the one that is. */
  readonly config: ServerConfig;
  /** The reason for the new process; `secrets` if there is none, because the secrets for it cannot be read. */
  readonly change: "config" | "restart" | "secrets";
  readonly code: ErrorCode;
  /** Which process serves, and why the new one does not. */
  readonly message: string;
  readonly hint: string;
}

/** Undefined if the new generation has no error. */
export function describeFailedReplacement(
  { alias, isOfProgram }: Pick<Member, "alias" | "isOfProgram">,
  next: Member,
  change: "config" | "restart",
): FailedReplacement | undefined {
  const { error } = next.lastError;
  if (error === undefined) return undefined;
  const cause = next.lastError.reason().reason ?? error.message;
  const message =
    change === "config"
      ? `${alias} runs with its earlier configuration, because it could not start with the new one: ${cause}`
      : `${alias} was not restarted, and its earlier process continues to run, because the new process failed: ${cause}`;
  const hint = `${error.hint}${isOfProgram ? "" : commandsFor(alias, error.code)}`;
  return { config: next.config, change, code: error.code, message, hint };
}

/** The process continues with secrets that Portolan cannot read again. */
export function describeUnreadSecrets(
  { alias, config, isOfProgram }: Pick<Member, "alias" | "config" | "isOfProgram">,
  { code, message, hint }: PortolanError,
): FailedReplacement {
  return {
    ...{ config, change: "secrets", code },
    message: `${alias} keeps its earlier secrets, and could not start again, because Portolan cannot read its secrets: ${message}`,
    hint: `${hint}${isOfProgram ? "" : " Then run: portolan reload"}`,
  };
}

function commandsFor(alias: string, code: ErrorCode): string {
  const again = ` To try again: portolan restart ${alias}.`;
  const isProcess = code === "SERVER_START_FAILED" || code === "SERVER_CRASHED";
  return isProcess
    ? `${again} If two processes of this server cannot run at the same time: portolan restart ${alias} --stop-first.`
    : again;
}
