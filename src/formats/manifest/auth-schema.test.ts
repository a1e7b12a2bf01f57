// `auth` of a server: settings that contradict each other are reported with their position.

import { expect, test } from "vitest";
import { parseManifest } from "./read.ts";

function read(auth: string): { readonly auth: unknown; readonly problems: readonly string[] } {
  const text = `config:\n  servers:\n    - {alias: a, transport: streamable-http, url: "https://x.example", auth: ${auth}}`;
  const { servers, diagnostics } = parseManifest(text, "m.yaml");
  const [endpoint] = servers.map((server) => server.endpoint);
  return {
    auth: endpoint !== undefined && "auth" in endpoint ? endpoint.auth : undefined,
    problems: diagnostics.map(({ message }) => message),
  };
}

const EXCHANGE = "token_endpoint: https://id.example/token, client_id: gateway";

test("reads the logins per caller and the settings of a token exchange", () => {
  expect(read("{per_caller: true, scopes: [a]}")).toMatchObject({
    auth: { perCaller: true, scopes: ["a"] },
    problems: [],
  });
  expect(read(`{exchange: {${EXCHANGE}, audience: notes, scopes: [read]}}`)).toMatchObject({
    auth: {
      exchange: {
        ...{ tokenEndpoint: "https://id.example/token", clientId: "gateway" },
        ...{ audience: "notes", scopes: ["read"] },
      },
    },
    problems: [],
  });
});

test.each([
  ["{per_caller: true, token: x}", "auth has a fixed token or key, and settings of OAuth"],
  [
    "{per_caller: true, grant: client_credentials, client_id: x}",
    "auth.grant client_credentials cannot be combined with per_caller",
  ],
  [
    `{exchange: {${EXCHANGE}}, grant: client_credentials, client_id: x}`,
    "auth.grant client_credentials cannot be combined with exchange",
  ],
  [`{exchange: {${EXCHANGE}}, client_id: x}`, "auth.exchange cannot be combined with other settings of auth"],
  [
    "{exchange: {token_endpoint: http://id.example/token, client_id: x}}",
    "auth.exchange.token_endpoint must begin with https://",
  ],
  ["{exchange: {client_id: x}}", "token_endpoint is missing in config.servers[0].auth.exchange"],
])("refuses auth settings that contradict each other: %s", (auth, problem) => {
  expect(read(auth).problems).toContain(problem);
});
