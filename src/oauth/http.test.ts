// Requests of OAuth in a private network: hosts that the operator wrote are reached, hosts that only metadata names are not.

import { execFileSync } from "node:child_process";
import dns, { type LookupAddress } from "node:dns";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, globalAgent } from "node:https";
import { syncBuiltinESMExports } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../../test/helpers/needs.ts";
import { ExchangedLogin } from "./exchanged-login.ts";
import { createOAuthHttp, type OAuthHttp } from "./http.ts";

const OPENSSL = "openssl";
/** Names that the resolver of this file leads to a private address. */
const [SERVER, ISSUER, OTHER] = ["mcp.corp.test", "sso.corp.test", "vault.corp.test"];

describe("OAuth requests in a private network", needs("openssl"), () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-oauth-"));
  const requests: string[] = [];
  const { lookup } = dns;
  const { ca } = globalAgent.options;
  let port = 0;
  let close = async (): Promise<void> => {};

  beforeAll(async () => {
    const [key, cert] = [join(folder, "key"), join(folder, "cert.pem")];
    const names = [SERVER, ISSUER, OTHER].map((name) => `DNS:${name}`).join(",");
    const words = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=corp.test -addext subjectAltName=${names}`;
    execFileSync(OPENSSL, [...words.split(" "), "-keyout", key, "-out", cert], { stdio: "ignore" });
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
      requests.push(request.headers.host ?? "");
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"access_token":"exchanged-token","token_type":"Bearer","issued_token_type":"x"}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    port = (server.address() as AddressInfo).port;
    close = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    globalAgent.options.ca = readFileSync(cert);
    const found: LookupAddress = { address: "127.0.0.1", family: 4 };
    dns.lookup = ((_host: string, options: { all?: boolean }, callback: (...words: unknown[]) => void) => {
      if (options.all === true) callback(null, [found]);
      else callback(null, found.address, found.family);
    }) as typeof lookup;
    syncBuiltinESMExports();
  });
  afterAll(async () => {
    dns.lookup = lookup;
    syncBuiltinESMExports();
    globalAgent.options.ca = ca;
    await close();
    rmSync(folder, { recursive: true, force: true });
  });

  const at = (host: string): URL => new URL(`https://${host}:${port}/path`);
  const statusOf = async (http: OAuthHttp, host: string): Promise<number> =>
    (await http.get(at(host))).status;

  test("reach the server and the issuer that the operator configured", async () => {
    const http = createOAuthHttp(at(SERVER), { named: [at(ISSUER).href, undefined] });
    expect(await statusOf(http, SERVER)).toBe(200);
    expect(await statusOf(http, ISSUER)).toBe(200);
  });

  test("are refused for hosts that only metadata names, with a hint about the setting", async () => {
    const http = createOAuthHttp(at(SERVER), { named: [at(ISSUER).href] });
    requests.length = 0;
    await expect(http.get(at(OTHER))).rejects.toMatchObject({
      message: expect.stringContaining("leads to the private address") as string,
      hint: expect.stringContaining("issuer under auth") as string,
      isTemporary: false,
    });
    await expect(http.get(new URL(`https://127.0.0.1:${port}/`))).rejects.toThrow("is a private address");
    await expect(http.get(new URL("http://169.254.169.254/"))).rejects.toThrow("is a private address");
    await expect(http.fetch(at(OTHER), { method: "POST" })).rejects.toThrow("private address");
    expect(requests).toEqual([]);
  });

  test("reach the configured token endpoint of a token exchange", async () => {
    const login = new ExchangedLogin({
      ...{ server: "s", url: "https://s.test/mcp", subjectToken: () => "token" },
      exchange: { tokenEndpoint: at(ISSUER).href, clientId: "c" },
    });
    expect(await login.headers()).toEqual({ authorization: "Bearer exchanged-token" });
  });
});
