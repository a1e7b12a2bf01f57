// The TLS certificate of a gateway: `portolan validate` and `portolan reload` check it, and a renewed one is reported.

import { generateKeyPairSync } from "node:crypto";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { envelope, start } from "../helpers/cli.ts";
import { entry, setUp, yaml } from "../helpers/running-gateway.ts";

const TLS = fileURLToPath(new URL("../fixtures/tls", import.meta.url));

test("validate and reload report a key that does not fit; reload says until when a new certificate is valid", async () => {
  const tls = { cert: "cert.pem", key: "key.pem" };
  const { cwd, run, serve, json } = setUp(yaml({ good: entry("--era=modern") }, { tls }));
  const [cert, key] = [join(cwd, "cert.pem"), join(cwd, "key.pem")];
  copyFileSync(join(TLS, "cert.pem"), cert);
  copyFileSync(join(TLS, "key.pem"), key);
  expect(await json("validate")).toMatchObject({ diagnostics: [] });
  await serve();
  expect((await run("reload", "--text")).out).toContain("No server and no setting changed");
  copyFileSync(join(TLS, "renewed.pem"), cert);
  const renewed = await run("reload", "--text");
  expect(renewed.out).toMatch(/^TLS certificate replaced, valid until 2126-\d\d-\d\d /m);
  expect(renewed.out).not.toContain("no setting changed");
  // OpenSSL alone accepts it, because the certificate has a key of another algorithm.
  const other = generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey;
  writeFileSync(key, other.export({ type: "pkcs8", format: "pem" }));
  const hint = expect.stringContaining("the key must belong to the certificate") as string;
  expect(await json("validate")).toMatchObject({
    diagnostics: [{ code: "CONFIG_INVALID", severity: "warning", hint }],
  });
  expect(await run("reload", "--text")).toMatchObject({ code: 2, out: hint });
});

test("reload warns of a changed gateway.tls with which the next start would fail", async () => {
  const { cwd, run, serve, json } = setUp(yaml({ good: entry("--era=modern") }));
  await serve();
  copyFileSync(join(TLS, "cert.pem"), join(cwd, "cert.pem"));
  const tls = { cert: "cert.pem", key: "gone.pem" };
  writeFileSync(join(cwd, "portolan.yaml"), yaml({ good: entry("--era=modern") }, { tls }));
  const missing = `there is no file ${join(cwd, "gone.pem")}, which gateway.tls.key names`;
  // A second reload repeats the warning, once.
  for (const _ of [1, 2])
    expect(await json("reload")).toMatchObject({
      ...{ problems: [], restart: ["gateway.tls"] },
      warnings: [expect.stringContaining(missing) as string],
    });
  const { code, out } = await run("reload", "--text");
  expect(code).toBe(0);
  expect(out).toMatch(/need a restart of the gateway: gateway\.tls\nwarning there is no file/);
  copyFileSync(join(TLS, "key.pem"), join(cwd, "gone.pem"));
  expect(await json("reload")).toMatchObject({ restart: ["gateway.tls"], warnings: [] });
});

test("a refused certificate of a server is explained, with the variable that trusts it", async () => {
  const { cwd, env } = setUp();
  const [cert, key] = ["cert.pem", "key.pem"].map((name) => readFileSync(join(TLS, name)));
  const server = createServer({ cert, key }, (_, response) => response.writeHead(404).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  // Node.js reads the variable when a process starts.
  const list = async (host: string, scheme = "https", more = {}) =>
    envelope(
      await start(["list", `${scheme}://${host}:${port}/mcp`], { cwd, env: { ...env, ...more } }).done,
    );
  for (const scheme of ["https", "wss"]) {
    const refused = await list("127.0.0.1", scheme);
    expect(refused.message).toMatch(/self-signed certificate/);
    expect(refused.hint).toContain("set the variable NODE_EXTRA_CA_CERTS to the file of its CA certificate");
  }
  const trust = { NODE_EXTRA_CA_CERTS: join(TLS, "cert.pem") };
  expect((await list("127.0.0.1", "https", trust)).message).toContain("404");
  expect((await list("0.0.0.0", "https", trust)).hint).toContain("The certificate is for another host name");
});
