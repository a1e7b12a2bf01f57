// Servers of the official registry: the part of a server.json that the lock file names, and the parts that become server configs.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { integrityOf, toSri } from "../../base/text/integrity.ts";
import { type InstallableOption, toServerOptions } from "../../formats/server-json/index.ts";
import type { PackageReference } from "../../model/index.ts";
import { renderLock } from "../lock/lock-file.ts";
import type { LockedPackage } from "../lock/schema.ts";
import { keepDocument } from "./documents.ts";
import { openLockedPackage, type PackageProgram } from "./locked-program.ts";
import { lockedSourceOf, parseServerDocument, toServerDocument, toServerFields } from "./official.ts";

const SERVER = {
  name: "io.github.example/search",
  description: "Searches.",
  version: "1.2.0",
  packages: [
    {
      registryType: "npm",
      identifier: "@example/search",
      version: "1.2.0",
      transport: { type: "stdio" },
      packageArguments: [{ type: "positional", value: "serve" }],
      environmentVariables: [{ name: "API_KEY", isRequired: true, isSecret: true }],
    },
    { registryType: "pypi", identifier: "search-mcp", version: "1.2.0", transport: { type: "stdio" } },
    { registryType: "oci", identifier: "docker.io/example/search:1.2.0", transport: { type: "stdio" } },
    {
      registryType: "oci",
      identifier: "docker.io/example/search:1.2.0",
      transport: { type: "streamable-http", url: "http://localhost:8080/mcp" },
    },
  ],
  remotes: [{ type: "streamable-http", url: "https://search.example.com/mcp" }],
};
const INTEGRITY = toSri(integrityOf(Buffer.from("tarball"), "sha512"));
const reference: PackageReference = { kind: "official", name: SERVER.name, range: "1.2.0" };

async function open(
  change: Partial<LockedPackage> = {},
  variables = { API_KEY: "k" },
): Promise<PackageProgram> {
  const root = mkdtempSync(join(tmpdir(), "portolan-official-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const metadata = await keepDocument(toServerDocument({ server: SERVER, _meta: { any: 1 } }), { root });
  const file = join(root, "portolan.lock");
  const locked: LockedPackage = {
    ...{ name: SERVER.name, version: "1.2.0", source: "npm:@example/search@1.2.0" },
    ...{ integrity: INTEGRITY, metadata, ...change },
  };
  writeFileSync(file, renderLock({ lockfileVersion: 1, servers: { search: { package: locked } } }));
  return openLockedPackage(
    { server: "search", reference, lock: { file, server: "search" } },
    { root, variables },
  );
}

test("the hashed bytes depend neither on the order of fields nor on the _meta of the registry", () => {
  const { name, ...rest } = SERVER;
  expect(toServerDocument({ server: { ...rest, name }, _meta: {} })).toEqual(toServerDocument(SERVER));
  expect(() => toServerDocument([])).toThrow(TypeError);
});

test("opens the package that the lock file names, with its arguments and variables", async () => {
  expect(await open()).toMatchObject({
    program: { kind: "npm", spec: "@example/search@1.2.0", integrity: INTEGRITY },
    args: ["serve"],
    env: { API_KEY: "k" },
  });
});

test.each<[string, Partial<LockedPackage>, RegExp]>([
  ["another source", { source: "npm:@evil/search@1.2.0" }, /The source of/],
  ["a source that is not installed", { source: "pypi:search-mcp@1.2.0" }, /The source of/],
  ["another version", { version: "1.3.0" }, /portolan.lock has the version 1.3.0/],
])("a lock file with %s is refused", async (_, change, message) => {
  await expect(open(change)).rejects.toThrow(message);
});

test("the error of a missing setting names the setting and its variable", async () => {
  await expect(open({}, {} as never)).rejects.toThrow(
    "The setting API_KEY (environment variable API_KEY) is missing",
  );
});

test("packages of other types and remotes become servers of portolan.yaml", () => {
  const document = parseServerDocument(toServerDocument(SERVER), "search");
  const options = toServerOptions(document) as InstallableOption[];
  expect(options.map(lockedSourceOf)).toEqual(["npm:@example/search@1.2.0", ...Array(4).fill(undefined)]);
  expect(options.map((option) => toServerFields(option, {}))).toMatchObject([
    // A package of npm is locked, and is no server config.
    ...([undefined] as never[]),
    { command: "uvx", args: ["search-mcp@1.2.0"] },
    { docker: "docker.io/example/search:1.2.0" },
    { docker: "docker.io/example/search:1.2.0", transport: "streamable-http", port: 8080, path: "/mcp" },
    { transport: "streamable-http", url: "https://search.example.com/mcp" },
  ]);
});

test("a text that looks like a secret reference is escaped; a reference made of two parts is refused", () => {
  const header = { name: "X-Key", value: "${GITHUB_TOKEN} {key}", variables: { key: { isSecret: true } } };
  const toFields = (input: object, env: Record<string, string>): unknown => {
    const remotes = [{ type: "streamable-http", url: "https://search.example.com/mcp", headers: [input] }];
    const document = parseServerDocument(toServerDocument({ ...SERVER, packages: [], remotes }), "search");
    return toServerFields(toServerOptions(document)[0] as InstallableOption, env);
  };
  expect(toFields(header, { KEY: "${secret:own}" })).toMatchObject({
    headers: { "X-Key": "$${GITHUB_TOKEN} ${secret:own}" },
  });
  const parts = { name: "X-Key", value: "${part}", variables: { part: { default: "{GITHUB_TOKEN}" } } };
  expect(() => toFields(parts, {})).toThrow("refers to ${GITHUB_TOKEN}, a secret");
});

test("docker run options: variables are set, other options are refused with the reason", () => {
  const toFields = (...runtimeArguments: object[]): unknown => {
    const image = {
      registryType: "oci",
      identifier: "docker.io/example/search:1",
      transport: { type: "stdio" },
    };
    const packages = [{ ...image, runtimeArguments }];
    const document = parseServerDocument(toServerDocument({ ...SERVER, packages, remotes: [] }), "search");
    return toServerFields(toServerOptions(document)[0] as InstallableOption, {});
  };
  const [flag, variable] = [
    { type: "named", name: "--rm" },
    { type: "named", name: "-e", value: "MODE=$X fast" },
  ];
  expect(toFields(flag, variable)).toMatchObject({ env: { MODE: "$X fast" } });
  const refused = (option: string): string =>
    `starts the image docker.io/example/search:1 with the docker run option "${option}", which Portolan does not pass on.`;
  for (const word of ["--privileged", "-v", "--env-file=/etc/passwd"])
    expect(() => toFields({ type: "positional", value: word })).toThrow(refused(word));
  expect(() => toFields({ type: "named", name: "-e", value: "1A=s3cr3t" })).toThrow(refused("-e 1A"));
  const missing = (option: string): string => `option "${option}", but its value is missing.`;
  expect(() => toFields({ type: "positional", value: "--env" })).toThrow(missing("--env"));
  expect(() => toFields({ type: "positional", value: "--env=MODE" })).toThrow(missing("--env MODE"));
  expect(() => toFields({ type: "named", name: "-e", value: "MODE" })).toThrow(
    expect.objectContaining({
      message: expect.stringContaining(missing("-e MODE")) as string,
      hint: expect.stringContaining("set the variable under env") as string,
    }),
  );
});
