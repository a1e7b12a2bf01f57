// Errors of logins, with the command that helps.

import { shellWord } from "../base/text/command-line.ts";
import { PortolanError } from "../errors/index.ts";

export interface LoginNeeded {
  readonly server: string;
  readonly account: string | undefined;
  /** The caller of a gateway; undefined for the owner of this machine. */
  readonly user?: string;
  /** The scopes that the server demands in addition. */
  readonly scope?: string;
  /** Why, in a phrase that follows the name of the server: "requires a login". */
  readonly why: string;
  readonly cause?: unknown;
}

/** A person must log in. */
export function loginNeeded({ server, account, user, scope, why, cause }: LoginNeeded): PortolanError {
  const option = (name: string, value = ""): string => (value === "" ? "" : ` --${name} ${shellWord(value)}`);
  const command = `portolan login ${shellWord(server)}${option("account", account)}${option("user", user)}`;
  // The command requests only the usual scopes. The login of a caller of a gateway requests the additional ones too.
  const isStepUp = scope !== undefined && user === undefined;
  return new PortolanError("AUTH_REQUIRED", `${server} ${why}`, {
    server,
    hint: isStepUp
      ? `Write all scopes that you need, these included, as scopes under auth in the config of the server. Then log in with: ${command}`
      : `Log in with: ${command}`,
    data: { login: { server, account, scope } },
    cause,
  });
}

/** The authorization server cannot be used now; logging in again does not help. */
export function authUnavailable(
  server: string,
  message: string,
  hint: string,
  cause?: unknown,
): PortolanError {
  return new PortolanError("AUTH_UNAVAILABLE", message, { server, hint, cause });
}

/** An invalid answer of an authorization server, or a final refusal. */
export function authFailed(server: string, message: string, hint: string, cause?: unknown): PortolanError {
  return new PortolanError("AUTH_FAILED", message, { server, hint, cause });
}
