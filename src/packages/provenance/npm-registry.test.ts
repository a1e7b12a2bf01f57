// Origin from a real HTTP server that answers as an npm registry does: signatures, attestations, old keys, failures.

import { createHash, sign } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  BYTES,
  createBundle,
  createSigstore,
  NPM_KEY_ID,
  npmKeys,
  PROVENANCE_V1,
  type Sigstore,
  trustedRoot,
} from "../../../test/helpers/attestations.ts";
import { findNpmOrigin } from "./npm-registry.ts";
import { checkOrigin } from "./origin.ts";
import type { OriginCheck } from "./proof.ts";
import { createTrust, type Trust } from "./trust.ts";

const SUBJECT = {
  name: "@alice/notes",
  version: "1.0.0",
  sha512: createHash("sha512").update(BYTES).digest(),
};

let sigstore: Sigstore;
let server: Server;
let answers: Record<string, { status?: number; body: unknown }> = {};
let requests: string[] = [];
let base: string;

beforeAll(async () => {
  sigstore = await createSigstore();
  server = createServer((request, response) => {
    requests.push(request.url ?? "");
    const { status = 200, body } = answers[request.url ?? ""] ?? {
      status: 404,
      body: { error: "not found" },
    };
    response.writeHead(status, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((done) => server.close(done)));

function trust(validFor?: object): Trust {
  return createTrust({
    sigstoreRoot: { file: "root.json", content: trustedRoot(sigstore) },
    npmKeys: { file: "keys.json", content: npmKeys(sigstore, validFor) },
  });
}

async function check(by = trust(), path = "/npm/"): Promise<OriginCheck> {
  requests = [];
  return checkOrigin(await findNpmOrigin(SUBJECT, { url: `${base}${path}` }, by), { trust: by });
}

const VERSION = "/npm/@alice%2fnotes/1.0.0";
const ATTESTATIONS = "/-/npm/v1/attestations/@alice%2fnotes@1.0.0";

function signatures(): object[] {
  const message = `@alice/notes@1.0.0:sha512-${SUBJECT.sha512.toString("base64")}`;
  const sig = sign("sha256", Buffer.from(message), sigstore.npmKey.privateKey).toString("base64");
  return [{ keyid: NPM_KEY_ID, sig }];
}

test("a package with signature and provenance is verified; attestations come from this registry only", async () => {
  const attestations = { url: `https://elsewhere.example${ATTESTATIONS}` };
  answers = {
    [VERSION]: { body: { dist: { signatures: signatures(), attestations } } },
    [ATTESTATIONS]: {
      body: { attestations: [{ predicateType: PROVENANCE_V1, bundle: await createBundle(sigstore) }] },
    },
  };
  const result = await check();
  expect(result.state === "verified" && result.proofs.map(({ kind }) => kind)).toEqual([
    ...["npm-signature", "npm-provenance"],
  ]);
  expect(requests).toEqual([VERSION, ATTESTATIONS]);
});

test("a registry without signatures gives an unsigned package; a missing version is an error", async () => {
  answers = { [VERSION]: { body: { dist: { tarball: "x" } } } };
  expect(await check()).toEqual({ state: "unsigned" });
  answers = {};
  await expect(check(trust(), "")).rejects.toThrow(
    /does not show @alice\/notes@1\.0\.0: it does not have this version/,
  );
  expect(requests).toEqual(["/@alice%2fnotes/1.0.0", "/@alice%2fnotes"]);
});

test("the document of all versions is used if the registry has no document of one version", async () => {
  answers = {
    "/npm/@alice%2fnotes": { body: { versions: { "1.0.0": { dist: { signatures: signatures() } } } } },
  };
  expect((await check()).state).toBe("verified");
  expect(requests).toEqual([VERSION, "/npm/@alice%2fnotes"]);
});

test("a package is unchecked if the registry names attestations that it does not have", async () => {
  const attestations = { url: `${base}${ATTESTATIONS}` };
  answers = { [VERSION]: { body: { dist: { attestations } } } };
  expect(await check()).toMatchObject({ state: "unchecked" });
  answers = { [VERSION]: { body: { dist: { signatures: signatures(), attestations } } } };
  expect(await check()).toMatchObject({ state: "verified", proofs: [{ kind: "npm-signature" }] });
});

test("the publication date of a version is requested if its key has expired", async () => {
  answers = {
    [VERSION]: { body: { dist: { signatures: signatures() } } },
    "/npm/@alice%2fnotes": { body: { time: { "1.0.0": "2024-01-01T00:00:00Z" } } },
  };
  const old = trust({ start: "2022-01-01T00:00:00Z", end: "2025-01-01T00:00:00Z" });
  expect((await check(old)).state).toBe("verified");
  expect(requests).toEqual([VERSION, "/npm/@alice%2fnotes"]);
  answers["/npm/@alice%2fnotes"] = { body: { time: { "1.0.0": "2026-01-01T00:00:00Z" } } };
  expect((await check(old)).state).toBe("invalid");
});

test.each([
  [{ status: 500, body: "" }, /status 500/],
  [{ status: 200, body: "<html>" }, /not JSON/],
])("a failed request is an error, not an unsigned package: %j", async (answer, reason) => {
  answers = { [VERSION]: answer };
  await expect(check()).rejects.toThrow(reason);
  const attestations = { url: `https://elsewhere.example${ATTESTATIONS}` };
  answers = { [VERSION]: { body: { dist: { attestations } } }, [ATTESTATIONS]: answer };
  await expect(check()).rejects.toThrow(reason);
});

test("the hint of a failed request names the login, or the setting of npm that decides about the package", async () => {
  answers = { [VERSION]: { status: 403, body: "" } };
  await expect(check()).rejects.toMatchObject({
    hint: `Log in with an account that can read the package: npm login --registry=${base}/npm/`,
  });
  answers = { [VERSION]: { status: 500, body: "" } };
  await expect(check()).rejects.toMatchObject({
    hint: expect.stringMatching(
      /: npm config get @alice:registry\. If it prints undefined: npm config get registry$/,
    ) as string,
  });
  const named = { url: `${base}/npm/`, isNamed: true };
  await expect(findNpmOrigin(SUBJECT, named, trust())).rejects.toMatchObject({
    hint: `Check the network. Check the URL of the registry in the config of the server: ${base}/npm/`,
  });
});

test("a registry that cannot be reached, and an invalid registry URL, are errors", async () => {
  await expect(findNpmOrigin(SUBJECT, { url: "http://127.0.0.1:1/" }, trust())).rejects.toThrow(
    /request to the npm registry for .* failed/,
  );
  await expect(findNpmOrigin(SUBJECT, { url: "registry" }, trust())).rejects.toThrow(/not the URL/);
});
