// Texts of an endpoint that may contain references: url, headers, auth, env and args. The command and its folder may not.

import type { Endpoint, OAuthSettings, StdioEndpoint } from "../model/index.ts";

export interface EndpointText {
  readonly kind: "url" | "header" | "auth" | "env" | "arg";
  /** Place of the text: `url`, `headers.Authorization`, `env.TOKEN`, `args[2]`. */
  readonly where: string;
  readonly text: string;
}

type Program = Pick<StdioEndpoint, "args" | "env">;

export function textsOf(endpoint: Endpoint): EndpointText[] {
  if (endpoint.transport === "stdio") return textsOfProgram(endpoint);
  return [
    { kind: "url", where: "url", text: endpoint.url },
    ...texts("header", "headers", endpoint.headers),
    ...texts("auth", "auth", secretsOf(endpoint.auth)),
    ...(endpoint.program === undefined ? [] : textsOfProgram(endpoint.program)),
  ];
}

function textsOfProgram({ args = [], env }: Program): EndpointText[] {
  return [
    ...args.map((text, index): EndpointText => ({ kind: "arg", where: `args[${index}]`, text })),
    ...texts("env", "env", env),
  ];
}

function texts(
  kind: EndpointText["kind"],
  field: string,
  map: Readonly<Record<string, string>> = {},
): EndpointText[] {
  return Object.entries(map).map(([name, text]) => ({ kind, where: `${field}.${name}`, text }));
}

/** The texts of `auth` that may contain references, by the names of the config files. */
function secretsOf(auth: OAuthSettings | undefined): Record<string, string> {
  const { clientId, clientSecret, clientKey, exchange } = auth ?? {};
  const found = {
    ...{ client_id: clientId, client_secret: clientSecret, private_key: clientKey?.pem },
    "exchange.client_id": exchange?.clientId,
    "exchange.client_secret": exchange?.clientSecret,
  };
  return Object.fromEntries(
    Object.entries(found).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}

function withSecrets(auth: OAuthSettings, pick: (where: string, old: string) => string): OAuthSettings {
  const { clientId, clientSecret, clientKey, exchange } = auth;
  return {
    ...auth,
    clientId: clientId && pick("auth.client_id", clientId),
    clientSecret: clientSecret && pick("auth.client_secret", clientSecret),
    clientKey: clientKey && { ...clientKey, pem: pick("auth.private_key", clientKey.pem) },
    exchange: exchange && {
      ...exchange,
      clientId: pick("auth.exchange.client_id", exchange.clientId),
      clientSecret: exchange.clientSecret && pick("auth.exchange.client_secret", exchange.clientSecret),
    },
  };
}

/** Returns the endpoint with the texts replaced that `filled` has for a `where`. */
export function withTexts(endpoint: Endpoint, filled: ReadonlyMap<string, string>): Endpoint {
  const pick = (where: string, old: string): string => filled.get(where) ?? old;
  const record = (field: string, old: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(old).map(([name, text]) => [name, pick(`${field}.${name}`, text)]));
  const program = <P extends Program>(old: P): P => ({
    ...old,
    ...(old.args === undefined ? {} : { args: old.args.map((text, index) => pick(`args[${index}]`, text)) }),
    ...(old.env === undefined ? {} : { env: record("env", old.env) }),
  });
  if (endpoint.transport === "stdio") return program(endpoint);
  return {
    ...endpoint,
    url: pick("url", endpoint.url),
    ...(endpoint.headers === undefined ? {} : { headers: record("headers", endpoint.headers) }),
    ...(endpoint.auth === undefined ? {} : { auth: withSecrets(endpoint.auth, pick) }),
    ...(endpoint.program === undefined ? {} : { program: program(endpoint.program) }),
  };
}
