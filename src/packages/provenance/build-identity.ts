// The identity of a build: what Sigstore's certificate says about repository, workflow and build service, compared with what the
// provenance claims. The certificate counts; a claim that differs from it is refused.

import { isObject } from "../../model/index.ts";
import { DerError, readDer, TAG } from "./der.ts";

/** The part of a signer's identity that is used; @sigstore/verify reads it from the certificate. */
export interface CertificateIdentity {
  readonly subjectAlternativeName?: string;
  readonly extensions?: { readonly issuer?: string };
  readonly oids?: readonly {
    readonly oid?: { readonly id: readonly number[] };
    readonly value: Uint8Array;
  }[];
}

export type IdentityResult =
  | { readonly ok: true; readonly signer: string; readonly details: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly reason: string };

/** Build services whose certificates name a repository, by the issuer of their tokens. */
const SERVICES: Readonly<Record<string, { readonly name: string; readonly host: string }>> = {
  "https://token.actions.githubusercontent.com": { name: "GitHub Actions", host: "https://github.com/" },
  "https://gitlab.com": { name: "GitLab CI", host: "https://gitlab.com/" },
};

/** Fields of the certificate: 1.3.6.1.4.1.57264.1.<number>. The first six have no encoding of their own. */
const FIELD = {
  oldIssuer: 1,
  oldCommit: 3,
  oldRepository: 5,
  oldRef: 6,
  issuer: 8,
  buildSigner: 9,
  runner: 11,
  repository: 12,
  commit: 13,
  ref: 14,
  repositoryId: 15,
} as const;

export function toIdentity(identity: CertificateIdentity, predicate: unknown): IdentityResult {
  const refuse = (reason: string): IdentityResult => ({ ok: false, reason });
  const field = (number: number): string | undefined => readField(identity, number);
  const issuer = field(FIELD.issuer) ?? field(FIELD.oldIssuer);
  const service = issuer !== undefined && Object.hasOwn(SERVICES, issuer) ? SERVICES[issuer] : undefined;
  if (service === undefined)
    return refuse(
      `the provenance was signed by ${JSON.stringify(issuer ?? "an unknown issuer")}, which is not a supported build service`,
    );
  const { host, name } = service;
  const oldName = field(FIELD.oldRepository);
  const repository = field(FIELD.repository) ?? (oldName === undefined ? undefined : `${host}${oldName}`);
  if (repository === undefined || !isRepository(repository, host))
    return refuse(`the certificate of the provenance names no repository at ${host}`);
  const workflow = identity.subjectAlternativeName ?? field(FIELD.buildSigner);
  // A workflow may come from another repository, but not from another service.
  if (workflow === undefined || !workflow.startsWith(host))
    return refuse(`the certificate of the provenance names no workflow at ${host}`);
  const runner = field(FIELD.runner);
  if (runner === "self-hosted")
    return refuse("the package was built on a self-hosted runner, so its provenance proves nothing");
  const claimed = claimedRepository(predicate);
  if (claimed !== undefined && normal(claimed) !== normal(repository))
    return refuse(`the provenance claims the repository ${claimed}, but its certificate names ${repository}`);
  const builder = claimedBuilder(predicate);
  if (builder !== undefined && !builder.startsWith(host))
    return refuse(`the provenance claims the builder ${builder}, but ${name} signed it`);
  const id = field(FIELD.repositoryId);
  const commit = field(FIELD.commit) ?? field(FIELD.oldCommit);
  const ref = field(FIELD.ref) ?? field(FIELD.oldRef);
  return {
    ok: true,
    signer: id === undefined || !/^\d{1,20}$/.test(id) ? repository : `${repository} (repository ${id})`,
    details: {
      service: name,
      repository,
      workflow,
      ...(ref === undefined ? {} : { ref }),
      ...(commit === undefined ? {} : { commit }),
    },
  };
}

/** Undefined for a field that is absent. Throws for one that is not visible text. */
function readField({ oids = [] }: CertificateIdentity, number: number): string | undefined {
  const wanted = `1.3.6.1.4.1.57264.1.${number}`;
  const found = oids.find(({ oid }) => oid?.id.join(".") === wanted);
  if (found === undefined) return undefined;
  const bytes = Buffer.from(found.value);
  let content: Buffer = bytes;
  if (number >= FIELD.issuer) {
    const value = readDer(bytes);
    if (value.tag !== TAG.utf8String) throw new DerError("a field of the certificate is not text");
    content = value.content;
  }
  const text = content.toString("utf8");
  if (!Buffer.from(text).equals(content) || text.length > 1_000 || !/^[\x21-\x7e]+$/.test(text))
    throw new DerError("a field of the certificate is not text");
  return text;
}

function isRepository(url: string, host: string): boolean {
  return (
    url.startsWith(host) &&
    /^[\w.-]+(\/[\w.-]+)+$/.test(url.slice(host.length)) &&
    !/(^|\/)\.\.?(\/|$)/.test(url)
  );
}

/** `git+https://host/owner/name@ref` of version 0.2, or the repository of the workflow of version 1. */
function claimedRepository(predicate: unknown): string | undefined {
  const source = at(predicate, "invocation", "configSource", "uri");
  const workflow = at(predicate, "buildDefinition", "externalParameters", "workflow", "repository");
  const claimed = typeof workflow === "string" ? workflow : typeof source === "string" ? source : undefined;
  return claimed?.replace(/^git\+/, "").replace(/(?<=\/[^/@]+)@[^@]*$/, "");
}

function claimedBuilder(predicate: unknown): string | undefined {
  const builder = at(predicate, "runDetails", "builder", "id") ?? at(predicate, "builder", "id");
  return typeof builder === "string" ? builder : undefined;
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (found, key) => (isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined),
    value,
  );
}

function normal(repository: string): string {
  return repository
    .replace(/\.git$/, "")
    .replace(/\/+$/, "")
    .toLowerCase();
}

/** Whether a repository that somebody wrote, in any of the usual forms, is the one of a proof. */
export function isSameRepository(written: string, repository: string): boolean {
  const url = written
    .replace(/^git\+/, "")
    .replace(/^(ssh:\/\/)?git@([^:/]+)[:/]/, "https://$2/")
    .replace(/^git:\/\//, "https://")
    .replace(/^github:/, "https://github.com/")
    .replace(/^gitlab:/, "https://gitlab.com/")
    .replace(/^(?=[\w-]+\/[\w.-]+$)/, "https://github.com/")
    .replace(/[#?].*$/, "");
  return normal(url) === normal(repository);
}
