// Login at a server behind OAuth: who is logged in and until when, or the command for a login.

import type { JSX } from "preact";
import type { Account, ServerHealth } from "../types.ts";
import { formatDay } from "./format.ts";
import { Badge, Command } from "./parts.tsx";

/** The command for the login that a server needs; undefined if it needs none. */
export function loginCommandOf(server: ServerHealth, account: Account | undefined): string | undefined {
  if (server.error?.code === "AUTH_REQUIRED") return account?.command ?? `portolan login ${server.alias}`;
  return account?.command;
}

/** One line for the card of a server. */
export function AccountLine({ account }: { readonly account: Account }): JSX.Element {
  const { state, as } = account;
  if (state !== "logged in")
    return <Badge tone="warn">{state === "expired" ? "login expired" : state}</Badge>;
  return <span>{as === undefined ? "logged in" : `logged in as ${as}`}</span>;
}

export function AccountFacts({ account }: { readonly account: Account }): JSX.Element {
  const { state, as, issuer, expiresAt, renewed, command } = account;
  return (
    <>
      <AccountLine account={account} />
      {state === "logged in" && expiresAt !== undefined && (
        <>
          , the token is valid until {formatDay(expiresAt)}
          {renewed && " and is then renewed"}
        </>
      )}
      {as !== undefined && state !== "logged in" && ` (${as})`}
      <span class="muted small account-issuer">{issuer}</span>
      {command && <Command text={command} />}
    </>
  );
}
