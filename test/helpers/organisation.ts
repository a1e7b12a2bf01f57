// The authorization server of an organisation (oidc-provider on loopback), for which a gateway is a protected resource; and the client
// of the official SDK that signs in there.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { exportJWK, generateKeyPair } from "jose";
import OidcProvider from "oidc-provider";
import { onTestFinished } from "vitest";
import type { HttpBrowser, Shown } from "./http-browser.ts";

export interface Organisation {
  readonly issuer: string;
  /** Requests by path, such as `/reg`. */
  readonly count: Map<string, number>;
}

export interface OrganisationOptions {
  /** Client ID metadata documents by their address. Without them, clients must register. */
  readonly documents?: Readonly<Record<string, object>>;
  readonly scopes?: readonly string[];
}

export async function startOrganisation(options: OrganisationOptions = {}): Promise<Organisation> {
  const { documents, scopes = ["mcp:use"] } = options;
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: "one", alg: "RS256", use: "sig" };
  const count = new Map<string, number>();
  const listener = createServer();
  await new Promise<void>((resolve) => {
    listener.listen(0, "127.0.0.1", resolve);
  });
  const issuer = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const provider = new OidcProvider(issuer, {
    jwks: { keys: [key] },
    cookies: { keys: ["a key of this test"] },
    scopes: ["openid", "offline_access", ...scopes],
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    clientBasedCORS: () => true,
    fetch: async (url: URL | string) =>
      new Response(JSON.stringify(documents?.[String(url)]), {
        headers: { "content-type": "application/json" },
      }),
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: documents === undefined },
      clientIdMetadataDocument: { enabled: documents !== undefined, ack: "draft-02" },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: async (_context: unknown, resource: string) => ({
          ...{ scope: scopes.join(" "), audience: resource, accessTokenTTL: 3_600 },
          ...{ accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } },
        }),
        useGrantedResource: async () => true,
      },
    },
  });
  const answer = provider.callback();
  listener.on("request", (request, response) => {
    const path = new URL(request.url ?? "/", issuer).pathname;
    count.set(path, (count.get(path) ?? 0) + 1);
    void answer(request, response);
  });
  onTestFinished(async () => {
    listener.closeAllConnections();
    await new Promise((resolve) => listener.close(resolve));
  });
  return { issuer, count };
}

/** Sends the forms of the organisation's pages as this person, until another site shows a page. */
export async function passOrganisation(
  browser: HttpBrowser,
  shown: Shown,
  { issuer }: Organisation,
  name: string,
): Promise<Shown> {
  let page = shown;
  for (let step = 0; step < 10 && page.url.origin === issuer; step += 1) {
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(page.text) ?? [];
    if (action === undefined) return page;
    const hidden = page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
    const fields = Object.fromEntries([...hidden].map(([, key = "", value = ""]) => [key, value]));
    const address = new URL(action.replaceAll("&amp;", "&"), page.url);
    page = await browser.submit(address, { login: name, password: "any", ...fields });
  }
  return page;
}

export interface SdkSignIn extends OAuthClientProvider {
  /** Where the client sent the browser. */
  asked: URL | undefined;
  /** What the client got. */
  accessToken: string | undefined;
}

/** The sign-in of an MCP client, as Claude, VS Code or the Inspector do it with the SDK. */
export function createSdkSignIn(redirectUrl: string, clientMetadataUrl?: string): SdkSignIn {
  const kept: {
    client?: StoredOAuthClientInformation;
    tokens?: StoredOAuthTokens;
    verifier?: string;
    discovery?: OAuthDiscoveryState;
  } = {};
  return {
    redirectUrl,
    ...(clientMetadataUrl === undefined ? {} : { clientMetadataUrl }),
    clientMetadata: {
      client_name: "a client",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native",
    },
    asked: undefined,
    get accessToken() {
      return kept.tokens?.access_token;
    },
    state: () => "the-state-of-the-client",
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    redirectToAuthorization(address) {
      this.asked = address;
    },
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier ?? "",
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (state) => void (kept.discovery = state),
  };
}
