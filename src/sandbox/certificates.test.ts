// Certificates that the sandbox grants because a variable names them, and files that a variable cannot grant.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findCertificates } from "./certificates.ts";

let folder = "";
const at = (name: string): string => join(folder, name);
const CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portolan-certificates-"));
  for (const name of ["certs", "mixed"]) mkdirSync(at(name));
  for (const name of ["ca.pem", "certs/a.pem", "certs/b.pem", "mixed/a.pem"])
    writeFileSync(at(name), `# A company\n${CERTIFICATE}`);
  const key = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n";
  writeFileSync(at("both.pem"), CERTIFICATE + key);
  writeFileSync(at("mixed/id"), key);
  writeFileSync(at("notes.txt"), "private");
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("passes on the certificate variables of this process and grants their files", async () => {
  const own = {
    NODE_EXTRA_CA_CERTS: relative(process.cwd(), at("ca.pem")),
    SSL_CERT_DIR: `${at("certs")}:${at("missing")}`,
    REQUESTS_CA_BUNDLE: at("missing.pem"),
    OTHER: at("ca.pem"),
  };
  expect(await findCertificates({}, undefined, own)).toEqual({
    env: { NODE_EXTRA_CA_CERTS: at("ca.pem"), SSL_CERT_DIR: own.SSL_CERT_DIR },
    paths: [at("certs"), at("ca.pem")],
  });
});

test("variables of the config win over those of this process, and are relative to the config's folder", async () => {
  const own = { SSL_CERT_FILE: at("missing.pem"), CURL_CA_BUNDLE: at("ca.pem") };
  const found = await findCertificates({ SSL_CERT_FILE: "certs/a.pem", CURL_CA_BUNDLE: "" }, folder, own);
  expect(found).toEqual({ env: {}, paths: [at("certs/a.pem")] });
});

test.each(["both.pem", "notes.txt", "mixed", "missing", "."])("does not grant %s", async (name) => {
  for (const variable of ["SSL_CERT_FILE", "SSL_CERT_DIR"]) {
    expect((await findCertificates({ [variable]: at(name) }, undefined, {})).paths).toEqual([]);
    expect(await findCertificates({}, undefined, { [variable]: at(name) })).toEqual({ env: {}, paths: [] });
  }
});
