// A server of a registry with the official MCP registry API that may be added: as a package of the lock file, or as an ordinary server.

import { isHttpUrl } from "../../../base/net/urls.ts";
import { shellWord } from "../../../base/text/command-line.ts";
import { integrityOf, toSri } from "../../../base/text/integrity.ts";
import { PortolanError } from "../../../errors/index.ts";
import type { McpbManifest } from "../../../formats/mcpb/index.ts";
import {
  type InstallableOption,
  OPTION_KINDS,
  type OptionKind,
  type ServerJsonDocument,
  toServerOptions,
  usableOptions,
} from "../../../formats/server-json/index.ts";
import type { ServerFields } from "../../../formats/workspace/index.ts";
import { packNpmPackage } from "../../../install/index.ts";
import type { PackageReference } from "../../../model/index.ts";
import {
  checkNpmOrigin,
  checkOrigin,
  loadTrust,
  lockedSourceOf,
  type OriginCheck,
  parseServerDocument,
  readBundle,
  toServerFields,
} from "../../../packages/index.ts";
import { findOfficialServer, type OfficialServer } from "../../../registry/index.ts";
import { clientOptions, registriesOf } from "../../registry/options.ts";
import type { Candidate, FindContext } from "../candidate.ts";
import type { PackageFacts } from "../facts.ts";
import { factsOfServer } from "./facts.ts";

export type OfficialReference = PackageReference & { readonly kind: "official" };

/** A server that becomes an ordinary entry of portolan.yaml: a Python package, an image or a URL. */
export interface ServerCandidate extends Pick<Candidate, "reference" | "facts" | "advisories" | "origin"> {
  /** `env` has the settings by their variables, as values or references. */
  readonly toFields: (env: Readonly<Record<string, string>>) => ServerFields;
}

export async function findOfficial(
  reference: OfficialReference,
  context: FindContext,
): Promise<Candidate | ServerCandidate> {
  const from = parseFrom(context.from);
  const found = await findServer(reference, context);
  const label = `${reference.name}@${reference.range ?? "latest"}`;
  const document = parseServerDocument(found.document, label);
  refuseOther(reference, document, found);
  const option = chooseOption(document, from);
  const facts = (files: Files): PackageFacts => factsOfServer({ document, found, option, ...files });
  const source = lockedSourceOf(option);
  if (source === undefined) {
    const toFields = (env: Readonly<Record<string, string>>): ServerFields => {
      const fields = toServerFields(option, env);
      if (fields !== undefined) return fields;
      throw new PortolanError(
        "NOT_SUPPORTED",
        `${document.name}: the URL for the kind ${option.kind} is incomplete: a setting in it has no value, or the URL of an image has no port.`,
        {
          hint: "Give each setting in the URL a value with --config key=value, or choose another kind with --from.",
        },
      );
    };
    return { reference, facts: facts({}), origin: { state: "unsigned" }, toFields };
  }
  const files = await readFiles(option, document.repository?.url, context);
  return {
    ...{ reference, facts: facts(files), origin: files.origin, document: found.document },
    locked: {
      ...{ name: document.name, version: document.version, source, integrity: files.integrity },
      ...{ metadata: toSri(integrityOf(found.document)), registry: found.registry },
    },
  };
}

/** For an update: a version that is no package of the lock file any more cannot take its place. */
export async function findOfficialPackage(
  reference: OfficialReference,
  context: FindContext,
): Promise<Candidate> {
  const found = await findOfficial(reference, context);
  if ("locked" in found) return found;
  const { name, version } = found.facts;
  throw new PortolanError(
    "NOT_SUPPORTED",
    `${name}@${version} has neither an npm package nor an MCPB bundle.`,
    {
      hint: `Copy the settings of the server, remove it with portolan remove <server>, then add it again: portolan add ${shellWord(`${name}@${version}`)} --name <server>`,
    },
  );
}

/** The first registry that has the server. One that cannot be reached is an error: a later one might have a foreign server. */
async function findServer(
  { name, range }: OfficialReference,
  { cli, settings, raw }: FindContext,
): Promise<OfficialServer> {
  const isNamed = raw.registry !== undefined || (cli.io.env["PORTOLAN_REGISTRY"] ?? "") !== "";
  // A registry of the command line may speak both APIs; one of portolan.yaml says which it speaks.
  const registries = registriesOf(cli, raw, settings).filter(
    ({ url, api }) => isHttpUrl(url) && (isNamed || api === "official"),
  );
  if (registries.length === 0)
    throw new PortolanError("USAGE", "No registry with the official MCP registry API was given.", {
      hint: `Name one: --registry <url>, or registries: [{ url: <url>, api: official }] in portolan.yaml.${atHint(name)}`,
    });
  const { resolveSecret, signal } = await clientOptions(cli, settings);
  for (const { url, token } of registries) {
    const secret = token === undefined ? undefined : async () => (await resolveSecret?.(token)) ?? token;
    const found = await findOfficialServer(url, name, range, { token: secret, signal });
    if (found !== undefined) return found;
  }
  const what = range === undefined ? name : `${name}@${range}`;
  throw new PortolanError(
    "PACKAGE_NOT_FOUND",
    registries.length === 1
      ? `The registry ${registries[0]?.url ?? ""} has no server ${what}.`
      : `No registry has the server ${what}.`,
    {
      hint: `Check the name, the version, and that the registry supports the official API (/v0.1/servers).${atHint(name)}`,
      data: { registries: registries.map(({ url }) => url) },
    },
  );
}

function atHint(name: string): string {
  return name.includes(".") ? "" : ` The name of a package in a Portolan registry begins with @: @${name}.`;
}

/** The registry is not signed, so at least its answer must be about what was asked. */
function refuseOther(
  { name, range = "latest" }: OfficialReference,
  document: ServerJsonDocument,
  { status, message, registry }: OfficialServer,
): void {
  const isExact = /^\d+\.\d+\.\d+/.test(range);
  if (document.name !== name || (isExact && document.version !== range))
    throw new PortolanError(
      "FORBIDDEN",
      `Portolan requested ${name}@${range}, but the registry ${registry} returned ${document.name}@${document.version}.`,
      {
        hint: "Do not add the server. Report this answer to the operator of the registry.",
        data: { reason: "OTHER_SERVER" },
      },
    );
  if (status !== "deleted") return;
  throw new PortolanError(
    "FORBIDDEN",
    `${name}@${document.version} was deleted from the registry ${registry}${message === undefined ? "." : `: ${message}`}`,
    { hint: "Choose another version.", data: { reason: "PACKAGE_DELETED" } },
  );
}

function parseFrom(from: string | undefined): OptionKind | undefined {
  const kind = OPTION_KINDS.find((one) => one === from);
  if (from === undefined || kind !== undefined) return kind;
  throw new PortolanError("USAGE", `--from does not support the kind ${JSON.stringify(from.slice(0, 60))}.`, {
    hint: `Write one of ${OPTION_KINDS.join(", ")}.`,
  });
}

function chooseOption(document: ServerJsonDocument, from: OptionKind | undefined): InstallableOption {
  const all = toServerOptions(document);
  const usable = usableOptions(all, { os: process.platform, arch: process.arch });
  const chosen = usable.find(({ kind }) => from === undefined || kind === from);
  if (chosen !== undefined) return chosen;
  const label = `${document.name}@${document.version}`;
  const kinds = [...new Set(usable.map(({ kind }) => kind))];
  if (from !== undefined && kinds.length > 0)
    throw new PortolanError(
      "NOT_SUPPORTED",
      `${label} has no ${from} form that Portolan can use on this machine.`,
      {
        hint: `Usable forms: ${kinds.join(", ")}. Choose one with --from, or leave --from out.`,
      },
    );
  const others = all.map((option) =>
    option.kind === "unsupported"
      ? `${option.registryType} ${option.name}: ${option.reason}`
      : option.transport === "stdio"
        ? `${option.kind}: it is for another platform`
        : `${option.kind}: it uses ${option.transport}, not stdio`,
  );
  throw new PortolanError(
    "NOT_SUPPORTED",
    `${label} offers no form of the server that Portolan can run on this machine${others.length === 0 ? ": its server.json names no packages and no remotes" : `. ${others.join("; ")}`}.`,
    { hint: "Ask its publisher for an npm package, an MCPB bundle or a remote server." },
  );
}

interface Files {
  readonly size?: number;
  /** Of a bundle: its settings and tools are in it. */
  readonly manifest?: McpbManifest;
}

interface LockedFiles extends Files {
  readonly integrity: string;
  readonly origin: OriginCheck;
}

/** The hash of what would be installed. For npm, a server.json has none: it is the one of the file that npm has now. */
async function readFiles(
  option: InstallableOption,
  repository: string | undefined,
  { cli, settings: { folder, policy } }: FindContext,
): Promise<LockedFiles> {
  const { signal } = cli.interrupt;
  const { env } = cli.io;
  const trust = await loadTrust(policy.trust ?? {}, folder);
  if (option.kind === "npm") {
    const spec = `${option.name}@${option.version}`;
    const { bytes } = await packNpmPackage(spec, { signal, env });
    const integrity = integrityOf(bytes, "sha512");
    const origin = await checkNpmOrigin({ spec, integrity }, { trust, repository, env, signal });
    return { integrity: toSri(integrity), size: bytes.length, origin };
  }
  if (option.kind !== "mcpb")
    throw new PortolanError("INTERNAL", `A server of the kind ${option.kind} has no files.`);
  const bundle = await readBundle(option.source, { folder, trusted: trust.certificates, signal });
  const { manifest, integrity, size, signature } = bundle;
  if (option.integrity !== undefined && option.integrity !== integrity)
    throw new PortolanError(
      "FORBIDDEN",
      `The hash of the bundle ${option.source} differs from the hash in the registry.`,
      {
        hint: "The file was changed after it was published. Do not add it.",
        data: { reason: "HASH_MISMATCH", expected: option.integrity, found: integrity },
      },
    );
  return {
    ...{ integrity, size, manifest },
    origin: await checkOrigin({ kind: "mcpb", signature }, { trust }),
  };
}
