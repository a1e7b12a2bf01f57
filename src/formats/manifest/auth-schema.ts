// `auth` of a server: how Portolan logs in to it. A fixed token or key becomes a header; everything else is OAuth.

import { isSecureUrl, parseUrl } from "../../base/net/urls.ts";
import type { OAuthSettings } from "../../model/index.ts";
import { entryOf, type Diagnostics, type ObjectNode } from "../document/index.ts";
import { flag, list, object, oneOf, partialObject, text, type Value } from "../schema-builder/index.ts";

const REFERENCE = "write a reference such as ${NAME}";

export const AUTH = partialObject(
  "How Portolan logs in to the server. Without it, portolan login is enough.",
  {
    token: text(`A fixed token, sent as Authorization: Bearer; ${REFERENCE}.`),
    header: text("Another header for a fixed key, such as X-API-Key; its value is in key."),
    key: text(`The fixed key for header; ${REFERENCE}.`),
    grant: oneOf(
      "authorization_code (the default): a person logs in. client_credentials: Portolan acts for itself.",
      ["authorization_code", "client_credentials"],
    ),
    clientId: text("A client that is registered at the authorization server.").key("client_id"),
    clientSecret: text(`The secret of the client; ${REFERENCE}.`).key("client_secret"),
    privateKey: text(`The private key of the client (PKCS #8 in PEM); ${REFERENCE}.`).key("private_key"),
    algorithm: text("The algorithm of private_key, such as RS256 (default ES256)."),
    clientMetadataUrl: text("The address of a client ID metadata document.").key("client_metadata_url"),
    issuer: text("The authorization server to use, if the server names several."),
    scopes: list("Scopes to request in place of those that the server names.", text()),
    account: text("One of several accounts at the same server."),
    redirectUri: text("The redirect address of client_id, such as http://127.0.0.1:33418/callback.").key(
      "redirect_uri",
    ),
    perCaller: flag("Each caller of the gateway logs in itself (default false).").key("per_caller"),
    exchange: object(
      "In place of a login: the OAuth token of the caller of the gateway is exchanged for one of the server.",
      {
        tokenEndpoint: text("the token endpoint that exchanges it").key("token_endpoint").required(),
        clientId: text("the client of the gateway there").key("client_id").required(),
        clientSecret: text(`The secret of the client; ${REFERENCE}.`).key("client_secret"),
        audience: text("The name of the server there (default: its URL, as resource)."),
        scopes: list("Scopes to request.", text()),
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
    diagnostics.add(entry, "auth has a fixed token and settings of OAuth", "Keep one of both.");
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
      `auth.grant client_credentials does not fit beside ${exchange === undefined ? "per_caller" : "exchange"}`,
      "Portolan acts for itself or for each caller. Keep one of them.",
    );
  if (exchange === undefined) return;
  const others = given.filter((name) => name !== "exchange" && name !== "perCaller" && name !== "grant");
  if (others.length > 0 && !others.some((name) => FIXED.includes(name)))
    diagnostics.add(entry, "auth.exchange replaces the login", "Write its client and scopes below exchange.");
  const url = parseUrl(exchange.tokenEndpoint);
  if (url === undefined || !isSecureUrl(url))
    diagnostics.add(
      entry,
      "auth.exchange.token_endpoint must begin with https://",
      "http:// is only for a token endpoint on this computer.",
    );
}
