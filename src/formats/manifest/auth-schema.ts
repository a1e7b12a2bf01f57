// `auth` of a server: how Portolan logs in to it. A fixed token or key becomes a header; everything else is OAuth.

import { isSecureUrl, parseUrl } from "../../base/net/urls.ts";
import type { OAuthSettings } from "../../model/index.ts";
import { entryOf, type Diagnostics, type ObjectNode } from "../document/index.ts";
import { flag, list, object, oneOf, partialObject, text, type Value } from "../schema-builder/index.ts";

const REFERENCE = "Use a reference such as ${NAME}.";

export const AUTH = partialObject(
  "Fixed credentials or OAuth settings for the server. Most OAuth servers need no settings: run portolan login <server>.",
  {
    token: text(`Fixed token that Portolan sends as Authorization: Bearer. ${REFERENCE}`),
    header: text("Name of the header that contains key, such as X-API-Key. Requires key."),
    key: text(`Fixed key that Portolan sends in the header named by header. ${REFERENCE}`),
    grant: oneOf(
      "OAuth grant type. authorization_code (default): a person logs in. client_credentials: Portolan logs in with its own credentials, without a person.",
      ["authorization_code", "client_credentials"],
    ),
    clientId: text(
      "OAuth client ID that is registered at the authorization server. Default: Portolan registers itself as a client.",
    ).key("client_id"),
    clientSecret: text(`OAuth client secret of client_id. ${REFERENCE}`).key("client_secret"),
    privateKey: text(
      `Private key of client_id (PKCS #8 in PEM), used in place of client_secret. ${REFERENCE}`,
    ).key("private_key"),
    algorithm: text("JWS algorithm of private_key, such as RS256. Default: ES256."),
    clientMetadataUrl: text("URL of an OAuth client ID metadata document, used in place of client_id.").key(
      "client_metadata_url",
    ),
    issuer: text(
      "Issuer URL of the authorization server to use. Default: the authorization server that the server names.",
    ),
    scopes: list("OAuth scopes to request. Default: the scopes that the server names.", text()),
    account: text(
      "Name of the account to use, if you have several logins at the same server. Log in to it with portolan login <server> --account <name>.",
    ),
    redirectUri: text(
      "Redirect URI that is registered for client_id, such as http://127.0.0.1:33418/callback. It must be on this machine. Default: a URI on 127.0.0.1 with a free port.",
    ).key("redirect_uri"),
    perCaller: flag(
      "If true, each caller of the gateway logs in to the server itself. Default: false, all callers use the login of the gateway's owner.",
    ).key("per_caller"),
    exchange: object(
      "OAuth token exchange (RFC 8693), used in place of a login: the gateway exchanges the OAuth token of its caller for a token of the server.",
      {
        tokenEndpoint: text("URL of the token endpoint that exchanges the token.")
          .key("token_endpoint")
          .required(),
        clientId: text("OAuth client ID of the gateway at the token endpoint.").key("client_id").required(),
        clientSecret: text(`OAuth client secret of client_id. ${REFERENCE}`).key("client_secret"),
        audience: text(
          "Audience of the requested token. Default: none; the request names the server's URL as resource.",
        ),
        scopes: list("OAuth scopes of the requested token.", text()),
      },
    ),
  },
);

export type AuthValue = Value<typeof AUTH>;

const FIXED = ["token", "header", "key"];

/** The headers of a fixed token or key. */
export function fixedHeaders(auth: AuthValue | undefined): Record<string, string> {
  const { token, header, key } = auth ?? {};
  if (token !== undefined) return { Authorization: `Bearer ${token}` };
  return header === undefined || key === undefined ? {} : { [header]: key };
}

/** The settings of OAuth; undefined for a fixed token or key. */
export function toOAuthSettings(auth: AuthValue | undefined): OAuthSettings | undefined {
  if (auth === undefined || FIXED.some((name) => name in auth)) return undefined;
  const { grant, privateKey, algorithm, token: _token, header: _header, key: _key, ...settings } = auth;
  return {
    ...settings,
    grant: grant === "client_credentials" ? { type: "client-credentials" } : undefined,
    clientKey: privateKey === undefined ? undefined : { pem: privateKey, algorithm },
  };
}

export function checkAuth(auth: AuthValue | undefined, node: ObjectNode, diagnostics: Diagnostics): void {
  const entry = entryOf(node, "auth");
  if (auth === undefined || entry === undefined) return;
  const given = Object.entries(auth).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  const fixed = given.filter((name) => FIXED.includes(name));
  if (fixed.length > 0 && fixed.length < given.length)
    diagnostics.add(
      entry,
      "auth has a fixed token or key, and settings of OAuth",
      "Keep the fixed token or key, or keep the OAuth settings.",
    );
  else if (fixed.includes("token") && fixed.length > 1)
    diagnostics.add(entry, "auth has token and another header", "Keep token, or header and key.");
  else if (fixed.length === 1 && !fixed.includes("token"))
    diagnostics.add(entry, `auth has only ${fixed[0]}`, "Write both header and key.");
  checkCallers(auth, given, entry, diagnostics);
  if (auth.grant === "client_credentials" && auth.clientId === undefined)
    diagnostics.add(
      entry,
      "auth.grant client_credentials needs a client",
      "Add client_id, and client_secret or private_key.",
    );
}

/** These fields decide whether each caller of a gateway has its own login or token at the server. */
function checkCallers(
  { grant, perCaller, exchange }: AuthValue,
  given: readonly string[],
  entry: Parameters<Diagnostics["add"]>[0],
  diagnostics: Diagnostics,
): void {
  if (grant === "client_credentials" && (perCaller === true || exchange !== undefined))
    diagnostics.add(
      entry,
      `auth.grant client_credentials cannot be combined with ${exchange === undefined ? "per_caller" : "exchange"}`,
      `Remove auth.grant, or remove ${exchange === undefined ? "per_caller" : "exchange"}. With client_credentials, Portolan has one login for all callers.`,
    );
  if (exchange === undefined) return;
  const others = given.filter((name) => name !== "exchange" && name !== "perCaller" && name !== "grant");
  if (others.length > 0 && !others.some((name) => FIXED.includes(name)))
    diagnostics.add(
      entry,
      "auth.exchange cannot be combined with other settings of auth",
      "Write the client and the scopes under exchange.",
    );
  const url = parseUrl(exchange.tokenEndpoint);
  if (url === undefined || !isSecureUrl(url))
    diagnostics.add(
      entry,
      "auth.exchange.token_endpoint must begin with https://",
      "http:// is only for a token endpoint on this computer.",
    );
}
