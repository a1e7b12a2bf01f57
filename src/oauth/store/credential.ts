// Credentials: what is kept of a login, and where.

import type { AuthorizationServer } from "oauth4webapi";
import type { OAuthClient } from "../client/oauth-client.ts";
import type { DpopKey } from "../dpop/dpop-key.ts";
import type { Tokens } from "../grants/token-request.ts";

/** Names a login: the server, the account there, and the user of the gateway. */
export interface CredentialKey {
  /** The address of the MCP server. */
  readonly server: string;
  /** One of several accounts; empty for the only one. */
  readonly account: string;
  /** The user of a gateway; empty for the owner of this machine. */
  readonly user: string;
}

/** A login at one issuer. It is never used with another one. */
export interface Credential {
  readonly issuer: string;
  readonly client: OAuthClient;
  /** Undefined after a logout, or when the authorization server does not accept the login any more. */
  readonly tokens?: Tokens;
  /** Where the tokens are refreshed and revoked. */
  readonly authorizationServer: Pick<
    AuthorizationServer,
    "issuer" | "token_endpoint" | "revocation_endpoint"
  >;
  readonly resource?: string;
  /** The key that the tokens are bound to. */
  readonly dpop?: DpopKey;
  /** The scopes that were requested, with spaces between them. */
  readonly scope?: string;
}

/** Changes a credential, or returns it as it is. Undefined removes it. */
export type CredentialChange = (current: Credential | undefined) => Promise<Credential | undefined>;

export interface CredentialStore {
  read(key: CredentialKey): Promise<Credential | undefined>;
  /** Runs one change at a time, also between processes. Resolves to what is stored then. */
  update(key: CredentialKey, change: CredentialChange): Promise<Credential | undefined>;
  list(): Promise<readonly { readonly key: CredentialKey; readonly credential: Credential }[]>;
}

/** Keeps credentials as long as this process runs. */
export function createMemoryStore(): CredentialStore {
  const stored = new Map<string, { key: CredentialKey; credential: Credential }>();
  const running = new Map<string, Promise<unknown>>();
  const nameOf = (key: CredentialKey): string => JSON.stringify([key.server, key.account, key.user]);
  return {
    read: async (key) => stored.get(nameOf(key))?.credential,
    update: async (key, change) => {
      const name = nameOf(key);
      const next = (running.get(name) ?? Promise.resolve()).then(async () => {
        const credential = await change(stored.get(name)?.credential);
        if (credential === undefined) stored.delete(name);
        else stored.set(name, { key, credential });
        return credential;
      });
      running.set(
        name,
        next.catch(() => {}),
      );
      return await next;
    },
    list: async () => [...stored.values()],
  };
}
