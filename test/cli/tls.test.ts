// The TLS certificate of a gateway: `portolan validate` and `portolan reload` check it, and a renewed one is reported.

import { generateKeyPairSync } from "node:crypto";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
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
