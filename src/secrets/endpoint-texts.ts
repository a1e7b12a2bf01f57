// The texts of an endpoint in which references count: url, headers, env and args. The command and its folder are taken as they stand.

import type { Endpoint } from "../model/index.ts";

export interface EndpointText {
  readonly kind: "url" | "header" | "env" | "arg";
  /** `url`, `headers.Authorization`, `env.TOKEN`, `args[2]`. */
  readonly where: string;
  readonly text: string;
}

export function textsOf(endpoint: Endpoint): EndpointText[] {
  if (endpoint.transport !== "stdio")
    return [
      { kind: "url", where: "url", text: endpoint.url },
      ...Object.entries(endpoint.headers ?? {}).map(([name, text]): EndpointText => ({
        kind: "header",
        where: `headers.${name}`,
        text,
      })),
    ];
  return [
    ...(endpoint.args ?? []).map((text, index): EndpointText => ({
      kind: "arg",
      where: `args[${index}]`,
      text,
    })),
    ...Object.entries(endpoint.env ?? {}).map(([name, text]): EndpointText => ({
      kind: "env",
      where: `env.${name}`,
      text,
    })),
  ];
}

/** The endpoint with other texts, by their `where`. */
export function withTexts(endpoint: Endpoint, texts: ReadonlyMap<string, string>): Endpoint {
  const pick = (where: string, old: string): string => texts.get(where) ?? old;
  const record = (prefix: string, old: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(old).map(([name, text]) => [name, pick(`${prefix}.${name}`, text)]));
  if (endpoint.transport !== "stdio")
    return {
      ...endpoint,
      url: pick("url", endpoint.url),
      ...(endpoint.headers === undefined ? {} : { headers: record("headers", endpoint.headers) }),
    };
  return {
    ...endpoint,
    ...(endpoint.args === undefined
      ? {}
      : { args: endpoint.args.map((text, index) => pick(`args[${index}]`, text)) }),
    ...(endpoint.env === undefined ? {} : { env: record("env", endpoint.env) }),
  };
}
