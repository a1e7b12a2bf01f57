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

/** Changes a client that was registered on the fly. Undefined removes it. */
export type ClientChange = (current: OAuthClient | undefined) => Promise<OAuthClient | undefined>;

export interface CredentialStore {
  read(key: CredentialKey): Promise<Credential | undefined>;
  /** Runs one change at a time, also between processes. Resolves to what is stored then. */
  update(key: CredentialKey, change: CredentialChange): Promise<Credential | undefined>;
  list(): Promise<readonly { readonly key: CredentialKey; readonly credential: Credential }[]>;
  /**
   * A value that differs after every change of the credential, also by another process. It is compared before each request, so that
   * a logout takes effect at once. Without it, the tokens in memory are used until they expire.
   */
  version?(key: CredentialKey): unknown;
  /**
   * The client of a gateway at one issuer with one redirect address, which `name` contains. Runs one change at a time, also between
   * processes. Without it, each user of the gateway has a client of its own.
   */
  updateClient?(name: string, change: ClientChange): Promise<OAuthClient | undefined>;
}

/** Keeps credentials as long as this process runs. */
export function createMemoryStore(): CredentialStore {
  const stored = new Map<string, { key: CredentialKey; credential: Credential }>();
  const clients = new Map<string, OAuthClient>();
  const running = new Map<string, Promise<unknown>>();
  const nameOf = (key: CredentialKey): string => JSON.stringify([key.server, key.account, key.user]);
  const oneAtATime = <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const next = (running.get(name) ?? Promise.resolve()).then(work);
    running.set(
      name,
      next.catch(() => {}),
    );
    return next;
  };
  return {
    read: async (key) => stored.get(nameOf(key))?.credential,
    update: (key, change) => {
      const name = nameOf(key);
      return oneAtATime(name, async () => {
        const credential = await change(stored.get(name)?.credential);
        if (credential === undefined) stored.delete(name);
        else stored.set(name, { key, credential });
        return credential;
      });
    },
    list: async () => [...stored.values()],
    version: (key) => stored.get(nameOf(key))?.credential,
    updateClient: (name, change) =>
      oneAtATime(`client ${name}`, async () => {
        const client = await change(clients.get(name));
        if (client === undefined) clients.delete(name);
        else clients.set(name, client);
        return client;
      }),
  };
}
