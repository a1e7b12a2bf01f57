// Helpers for mcpfile tests: folders with an mcpfile served by a gateway, a git repository, an issuer of tokens.

import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { onTestFinished } from "vitest";
import type { Diagnostic } from "../../src/errors/index.ts";
import { type OpenedGateway, openGateway } from "../../src/gateway/index.ts";
import type { GatewaySettings } from "../../src/model/index.ts";
import { record } from "./invoke.ts";
import { type ClientOptions, RawLegacy, RawModern } from "./raw-clients.ts";
import { TOKEN } from "./raw-gateways.ts";

export type Era = "modern" | "legacy";
export const ERAS: readonly Era[] = ["modern", "legacy"];

/** A folder of its own with these files. */
export function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-mcpfile-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

export interface Served {
  readonly gateway: OpenedGateway;
  readonly url: string;
  readonly folder: string;
  readonly diagnostics: readonly Diagnostic[];
  connect(era: Era, options?: ClientOptions): Promise<RawModern | RawLegacy>;
  names(): Promise<string[]>;
}

/** Serves the folder over HTTP. */
export async function serve(folder: string, settings: GatewaySettings = {}): Promise<Served> {
  const diagnostics: Diagnostic[] = [];
  const gateway = await openGateway(folder, {
    access: { token: TOKEN, key: Buffer.alloc(32, 7) },
    settings: { port: 0, ...settings },
    snapshots: false,
    onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
  });
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen();
  const connect: Served["connect"] = async (era, options = {}) =>
    era === "modern"
      ? new RawModern(url, { token: TOKEN, ...options })
      : RawLegacy.open(url, { token: TOKEN, ...options });
  return {
    gateway,
    url,
    folder,
    diagnostics,
    connect,
    async names() {
      const { result } = await (await connect("modern")).call("tools/list");
      return (result.tools as { name: string }[]).map(({ name }) => name).sort();
    },
  };
}

/** One mcpfile, served. */
export function serveMcpfile(text: string, settings?: GatewaySettings): Promise<Served> {
  return serve(folderWith({ "mcpfile.yaml": text }), settings);
}

/** Runs git with an identity, and none of the settings of whoever runs the tests. */
export function git(...words: string[]): string {
  return execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t.test", ...words], {
    env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
  }).trim();
}

/** A bare repository with three commits; gives its URL, over which a depth counts. */
export function bareRepository(name: string): string {
  const folder = folderWith({});
  const work = join(folder, "work");
  git("init", "--quiet", work);
  for (const message of ["one", "two", "three"])
    git("-C", work, "commit", "--quiet", "--allow-empty", "--message", message);
  git("clone", "--quiet", "--bare", work, join(folder, `${name}.git`));
  return `file://${join(folder, `${name}.git`)}`;
}

export interface Issuer {
  readonly settings: GatewaySettings;
  token(scope?: string): Promise<string>;
}

/** Signs tokens that the gateway takes. */
export async function startIssuer(): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] });
  const { origin } = await record((_request, response) => {
    response.setHeader("content-type", "application/json").end(keys);
  });
  return {
    settings: { oauth: { issuer: origin, audience: "the-gateway", jwksUrl: `${origin}/keys` } },
    token: (scope) =>
      new SignJWT(scope === undefined ? {} : { scope })
        .setProtectedHeader({ alg: "ES256", kid: "k" })
        .setIssuer(origin)
        .setAudience("the-gateway")
        .setSubject("ada")
        .setIssuedAt()
        .setExpirationTime("10m")
        .sign(privateKey),
  };
}
