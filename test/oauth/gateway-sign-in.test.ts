// The gateway as a protected resource of an organisation's authorization server: clients of the official SDK sign in to it, and their
// users log in at servers behind it, or have their tokens exchanged.

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { GatewaySettings, OAuthSettings } from "../../src/model/index.ts";
import { HttpBrowser, type Shown } from "../helpers/http-browser.ts";
import { type OAuthServer, startOAuthServer } from "../helpers/oauth-server.ts";
import {
  createSdkSignIn,
  type Organisation,
  passOrganisation,
  type SdkSignIn,
  startOrganisation,
} from "../helpers/organisation.ts";
import { openTestGateway } from "../helpers/raw-gateways.ts";

const WHOAMI = "mcp_notes_whoami";
const SCOPES = ["mcp:use"];
const DOCUMENT = "https://client.example.com/metadata.json";

let server: OAuthServer;
beforeEach(async () => {
  server = await startOAuthServer();
});
afterEach(() => server.close());

interface Signed {
  readonly client: Client;
  readonly provider: SdkSignIn;
  readonly browser: HttpBrowser;
}

async function openGateway(
  { issuer }: Organisation,
  auth: OAuthSettings = { perCaller: true },
  more: GatewaySettings = {},
): Promise<string> {
  const endpoint = { transport: "http", url: server.url, auth } as const;
  const settings = { oauth: { issuer, scopes: SCOPES }, ...more };
  return (await openTestGateway([{ alias: "notes", endpoint }], settings)).url;
}

/** Signs in to the gateway at this address with the SDK, as a person with a browser. */
async function signIn(
  organisation: Organisation,
  url: string,
  name: string,
  options: { document?: string; mode?: "legacy" | { pin: string }; links?: string[] } = {},
): Promise<Signed> {
  const { document, mode = { pin: "2026-07-28" }, links } = options;
  const redirect = await listenForRedirect();
  const provider = createSdkSignIn(redirect.url, document);
  const browser = new HttpBrowser();
  const connect = async (): Promise<Client> => {
    const client = new Client(
      { name: "test", version: "1" },
      { capabilities: links === undefined ? {} : { elicitation: { url: {} } }, versionNegotiation: { mode } },
    );
    if (links !== undefined)
      client.setRequestHandler("elicitation/create", ({ params }) => {
        const link = "url" in params ? params.url : "";
        links.push(link);
        void logInAtNotes(browser, link, organisation, name);
        return { action: "accept" };
      });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider: provider }));
    return client;
  };
  await expect(connect()).rejects.toThrow(UnauthorizedError);
  const asked = provider.asked as URL;
  expect(asked.searchParams.get("resource")).toBe(url);
  expect(asked.searchParams.get("scope")).toContain("mcp:use");
  const back = await passOrganisation(browser, await browser.open(asked), organisation, name);
  expect(back.url.origin, back.text).not.toBe(organisation.issuer);
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  await transport.finishAuth(back.url.searchParams);
  const client = await connect();
  onTestFinished(() => client.close());
  return { client, provider, browser };
}

async function listenForRedirect(): Promise<{ url: string }> {
  const listener = createServer((_request, response) => void response.end("done"));
  await new Promise<void>((resolve) => {
    listener.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    listener.closeAllConnections();
    listener.close();
  });
  return { url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback` };
}

/** Opens the link, signs in at the organisation, and logs in at the server as the same person. */
async function logInAtNotes(
  browser: HttpBrowser,
  link: string,
  organisation: Organisation,
  name: string,
): Promise<Shown> {
  browser.setCookie(new URL(server.url).origin, "as", name);
  const first = await browser.open(link);
  expect(first.text).toContain("Sign in at");
  const known = await passOrganisation(
    browser,
    await browser.submit(link, { proof: "issuer" }),
    organisation,
    name,
  );
  if (!known.text.includes("Continue to notes")) return known;
  return browser.submit(link, { proof: "cookie" });
}

const textOf = (result: object): unknown => (result as { content: { text: string }[] }).content[0]?.text;

describe("clients of the SDK sign in", () => {
  test.each([
    ["with registration", undefined],
    ["with a client ID metadata document", DOCUMENT],
  ])("%s, at the whole gateway and at one server", async (_how, document) => {
    const redirects = ["http://127.0.0.1/callback"];
    const client = { client_id: DOCUMENT, redirect_uris: redirects, token_endpoint_auth_method: "none" };
    const documents = {
      [DOCUMENT]: {
        ...client,
        client_name: "a client",
        application_type: "native",
        grant_types: ["authorization_code"],
      },
    };
    const organisation = await startOrganisation(document === undefined ? {} : { documents });
    const base = await openGateway(organisation, {});
    for (const [path, mode] of [
      ["/mcp", { pin: "2026-07-28" }],
      ["/servers/notes/mcp", "legacy"],
    ] as const) {
      const refused = await fetch(`${base}${path}`, { method: "POST" });
      const metadata = `${base}/.well-known/oauth-protected-resource${path}`;
      expect(refused.status).toBe(401);
      expect(refused.headers.get("www-authenticate")).toBe(
        `Bearer scope="mcp:use", resource_metadata="${metadata}"`,
      );
      expect(await (await fetch(metadata)).json()).toEqual({
        resource: `${base}${path}`,
        authorization_servers: [organisation.issuer],
        scopes_supported: SCOPES,
        bearer_methods_supported: ["header"],
      });
      const { client: signed } = await signIn(organisation, `${base}${path}`, "alice", { document, mode });
      // The sign-in is complete, although the owner has no login at the server: only the list of this server says so.
      if (mode === "legacy") await expect(signed.listTools()).rejects.toThrow("notes requires a login");
      else await expect(signed.listTools()).resolves.toBeDefined();
    }
    expect(organisation.count.get("/reg") ?? 0).toBe(document === undefined ? 2 : 0);
  });

  test("a token for one server is not accepted at the whole gateway", async () => {
    const organisation = await startOrganisation();
    const base = await openGateway(organisation);
    const { provider } = await signIn(organisation, `${base}/servers/notes/mcp`, "alice");
    const headers = { authorization: `Bearer ${provider.accessToken}`, "content-type": "application/json" };
    const refused = await fetch(`${base}/mcp`, { method: "POST", headers, body: "{}" });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toContain('error="invalid_token"');
    const accepted = await fetch(`${base}/servers/notes/mcp`, { method: "POST", headers, body: "{}" });
    expect(accepted.status).not.toBe(401);
    expect((await fetch(`${base}/.well-known/oauth-protected-resource/elsewhere`)).status).toBe(404);
  });
});

test("users of the organisation confirm their identity before they log in at a server", async () => {
  const organisation = await startOrganisation();
  const base = await openGateway(organisation);
  const links = { alice: [] as string[], bob: [] as string[] };
  const alice = await signIn(organisation, `${base}/mcp`, "alice", { links: links.alice });
  const bob = await signIn(organisation, `${base}/mcp`, "bob", { links: links.bob, mode: "legacy" });
  const called = await Promise.all(
    [alice, bob].map(({ client }) => client.callTool({ name: WHOAMI, arguments: {} })),
  );
  expect(called.map(textOf)).toEqual(["it is alice", "it is bob"]);
  expect(links.alice).toHaveLength(1);
  expect(links.bob).toHaveLength(1);
  expect(server.mixed).toBe(0);

  // Bob is lured into opening a link of Mallory: he is another person, so that Mallory does not get his account.
  const mallory = await signIn(organisation, `${base}/mcp`, "mallory");
  const refused = await mallory.client
    .callTool({ name: WHOAMI, arguments: {} })
    .catch((error: unknown) => error);
  const link = (refused as { data: { url: string } }).data.url;
  const before = server.users.size;
  const lured = await logInAtNotes(new HttpBrowser(), link, organisation, "bob");
  expect(lured.text).toContain("you are signed in as a different person");
  expect(server.users.size).toBe(before);
});

test("the token of a caller is exchanged, and never forwarded", async () => {
  const organisation = await startOrganisation();
  const origin = new URL(server.url).origin;
  const exchange = {
    tokenEndpoint: `${origin}/token`,
    clientId: "gateway",
    clientSecret: "canary-of-the-gateway",
  };
  const base = await openGateway(organisation, { exchange });
  const [alice, bob] = await Promise.all(
    ["alice", "bob"].map((name) => signIn(organisation, `${base}/mcp`, name)),
  );
  const seen = new Set<string>();
  for (let round = 0; round < 3; round += 1)
    for (const { client } of [alice as Signed, bob as Signed])
      seen.add(String(textOf(await client.callTool({ name: WHOAMI, arguments: {} }))));
  expect([...seen].toSorted()).toEqual(["it is alice", "it is bob"]);
  // One exchange for each caller, with the server as the resource.
  expect(server.exchanges).toHaveLength(2);
  for (const { resource, client } of server.exchanges)
    expect({ resource, client }).toEqual({ resource: server.url, client: "gateway" });
  for (const { provider } of [alice as Signed, bob as Signed]) {
    expect(server.exchanges.map(({ subject }) => subject)).toContain(provider.accessToken);
    expect(server.presented).not.toContain(provider.accessToken);
  }
  // A new exchange when the server no longer accepts the token.
  server.revokeAccess();
  expect(textOf(await (alice as Signed).client.callTool({ name: WHOAMI, arguments: {} }))).toBe(
    "it is alice",
  );
  expect(server.exchanges).toHaveLength(3);
});
