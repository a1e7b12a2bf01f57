// Logins at a real authorization server (oidc-provider): in a browser, by device code, with bound tokens and pushed requests.

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { connectMcp, type McpOAuth } from "../../src/index.ts";
import { createMemoryStore } from "../../src/oauth/store/credential.ts";
import { openPage, startBrowser } from "../helpers/browser.ts";
import { portolan, start, temporaryFolder } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";
import { type OidcOptions, type OidcServer, startOidcServer, visitAs } from "../helpers/oidc-server.ts";

async function open(options: OidcOptions = {}): Promise<OidcServer> {
  const server = await startOidcServer(options);
  onTestFinished(() => server.close());
  return server;
}

/** A machine without a keyring; its browser only writes down what it should show. */
function machine(server: OidcServer) {
  const cwd = temporaryFolder();
  const bin = join(cwd, "bin");
  const shown = join(cwd, "shown");
  mkdirSync(bin);
  writeFileSync(
    join(bin, "xdg-open"),
    `#!/bin/sh\nprintf %s "$1" > ${shown}.new && mv ${shown}.new ${shown}\n`,
  );
  chmodSync(join(bin, "xdg-open"), 0o755);
  writeFileSync(join(cwd, "portolan.yaml"), `servers:\n  notes:\n    url: ${server.url}\n    era: legacy\n`);
  const env = {
    ...{ XDG_DATA_HOME: join(cwd, "data"), XDG_STATE_HOME: join(cwd, "state"), DBUS_SESSION_BUS_ADDRESS: "" },
    PATH: `${bin}:${process.env["PATH"] ?? ""}`,
  };
  const address = (): Promise<URL> =>
    vi.waitFor(() => new URL(existsSync(shown) ? readFileSync(shown, "utf8") : ""), 30_000);
  return { cwd, env, address };
}

const asAnn: Required<Pick<McpOAuth, "openLoginPage">> = {
  openLoginPage: async ({ redirectUri = "http://127.0.0.1:1/callback" }) => ({
    redirectUri,
    show: (address) => visitAs("ann", address),
    close: async () => {},
  }),
};

describe("a login in a browser", needs("chromium"), () => {
  let browser: Promise<Browser> | undefined;
  afterAll(async () => (await browser)?.close());

  test("is made by portolan login, and later commands use it", async () => {
    browser ??= startBrowser();
    const { cwd, env, address } = machine(await open());
    const login = start(["login", "notes", "--text"], { cwd, env });
    const page = await openPage(await browser, await address());
    await page.fill("input[name=login]", "ann");
    await page.fill("input[name=password]", "any");
    await page.click("button[type=submit]");
    await page.click("button[type=submit]");
    await page.waitForSelector("text=You can close this window.");
    expect(new URL(page.url()).hostname).toBe("127.0.0.1");
    expect(await login.done).toMatchObject({ code: 0, out: "Logged in to notes as ann@example.com.\n" });

    const call = await portolan(["call", "notes.whoami", "--text"], { cwd, env });
    expect(call).toMatchObject({ code: 0, out: "you are ann\n" });
    const status = await portolan(["status", "--text"], { cwd, env });
    expect(status.out).toMatch(
      /logged in as ann@example\.com, the token is valid until \d{4}-\d\d-\d\d \d\d:\d\d and is then renewed/,
    );
    const why = await portolan(["why", "notes", "--json"], { cwd, env });
    expect(JSON.parse(why.out)).toMatchObject({
      login: { state: "logged in", as: "ann@example.com", renewed: true },
    });
  });
});

describe("a login without a keyring, a browser or a terminal", () => {
  test("uses a device code, and later commands use the login", async () => {
    const server = await open();
    const { cwd, env } = machine(server);
    const login = start(["login", "notes", "--no-browser"], { cwd, env });
    const complete = await vi.waitFor(() => {
      const found = /which contains the code: (\S+)/.exec(login.err())?.[1];
      return new URL(found ?? "");
    }, 30_000);
    expect(login.err()).toMatch(/Open this address in a browser of any machine: \S+\/device\n/);
    expect(login.err()).toMatch(/Enter this code there: \w{4}-\w{4}\n/);
    await visitAs("ann", complete);
    const { code, out, err } = await login.done;
    expect({ code, ...(JSON.parse(out) as object) }).toMatchObject({
      ...{ code: 0, server: "notes", state: "logged in", as: "ann@example.com" },
    });
    expect(err).toContain("Their key is in a file of the same folder");
    expect(await portolan(["call", "notes.whoami", "--text"], { cwd, env })).toMatchObject({
      out: "you are ann\n",
    });
    // The token is renewed by the client that was registered for device codes.
    server.revokeAccess();
    expect((await portolan(["call", "notes.whoami", "--text"], { cwd, env })).out).toBe("you are ann\n");
  });
});

describe("a login in code", () => {
  const call = async (server: OidcServer, auth: McpOAuth): Promise<string> => {
    await using mcp = await connectMcp({
      ...{ transport: "http", url: server.url, name: "s", era: "legacy", watch: false, auth },
    });
    return (await mcp.callTool("whoami", {})).text;
  };

  test.each<[string, OidcOptions]>([
    ["tokens that are bound to a key", { dpop: true }],
    ["pushed authorization requests", { pushed: true }],
  ])("with %s works, and its token is refreshed", async (_name, options) => {
    const server = await open(options);
    const store = createMemoryStore();
    expect(await call(server, { ...asAnn, store })).toBe("you are ann");
    server.revokeAccess();
    expect(await call(server, { store })).toBe("you are ann");
    const [{ credential } = { credential: undefined }] = await store.list();
    expect(credential?.dpop !== undefined).toBe(options.dpop === true);
    expect(server.count.get("/request") ?? 0).toBe(options.pushed === true ? 1 : 0);
  });

  test("that was revoked at the authorization server must be made again by a person", async () => {
    const server = await open();
    const store = createMemoryStore();
    await call(server, { ...asAnn, store });
    const [{ credential } = { credential: undefined }] = await store.list();
    // Somebody uses the refresh token twice: the authorization server ends the whole login.
    for (let time = 0; time < 2; time += 1)
      await fetch(`${server.issuer}/token`, {
        method: "POST",
        body: new URLSearchParams({
          ...{ grant_type: "refresh_token", client_id: credential?.client.clientId ?? "" },
          refresh_token: credential?.tokens?.refreshToken ?? "",
        }),
      });
    server.revokeAccess();
    await expect(call(server, { store })).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(await call(server, { ...asAnn, store })).toBe("you are ann");
  });
});
