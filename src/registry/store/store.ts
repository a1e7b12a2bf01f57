// Store of a registry on disk: one signed index, immutable version files, files of packages, tokens and counts.

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomic, type WriteOptions } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { integrityOf, parseIntegrity, sameIntegrity } from "../../base/text/integrity.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import type { PackageMetadata } from "../../formats/package/index.ts";
import { parseAdvisory } from "../catalog/advisory.ts";
import { createSearch, type SearchIndex } from "../catalog/search.ts";
import { type Advisory, type IndexPackage, type RegistryIndex, scopeOf } from "../catalog/types.ts";
import { isTagName } from "../catalog/versions.ts";
import { type Counts, openCounts } from "./counts.ts";
import { type IndexState, openIndexFile } from "./index-file.ts";
import { fileName, type Layout, layoutOf } from "./layout.ts";
import { addVersion, declaredHashes, prepareVersion } from "./publish.ts";
import { openQuotas, QUOTA_DEFAULTS, type QuotaLimits, type Quotas } from "./quotas.ts";
import { openStars, type Stars } from "./stars.ts";
import { changeStatus, type StatusChange } from "./status.ts";
import { openTokens, type Tokens } from "./tokens.ts";
import { sizeOf, storeUpload, sweepUploads, type UploadOptions } from "./upload.ts";

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;
export const MAX_DOCUMENT_BYTES: number = 1024 * 1024;
const MAX_CACHED = 2_000;
const MAX_ADVISORIES = 10_000;

export interface StoreOptions {
  readonly now?: () => Date;
  /** How long a signed index is valid; a week by default. The registry signs it again in time. */
  readonly validForMs?: number;
  /** Permissions of services that this registry accepts beyond the usual ones. */
  readonly permissions?: readonly string[];
  /** The quota of one token per day. */
  readonly quota?: Partial<QuotaLimits>;
  readonly report?: (error: unknown) => void;
  /** Replaces the disk in tests of faults that a real disk does not produce on command. */
  readonly writeBytes?: WriteOptions["writeBytes"];
}

export interface Published {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly warnings: readonly Diagnostic[];
}

export interface RegistryStore {
  readonly layout: Layout;
  readonly publicKey: string;
  readonly tokens: Tokens;
  readonly counts: Counts;
  readonly stars: Stars;
  readonly quotas: Quotas;
  read(): Promise<IndexState>;
  /** The search over the present index. */
  search(): Promise<SearchIndex>;
  /** The document of a version, verified against the index. */
  readVersion(integrity: string): Promise<PackageMetadata>;
  publish(text: string, options: PublishOptions): Promise<Published>;
  upload(content: AsyncIterable<Uint8Array>, options: UploadOptions): Promise<boolean>;
  /** Deprecates, restores or deletes versions. Returns those that changed. */
  changeStatus(name: string, change: StatusChange): Promise<readonly string[]>;
  publishAdvisory(value: unknown, owns: (scope: string) => boolean): Promise<Advisory>;
  /** Signs the index again. */
  sign(): Promise<IndexState>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface PublishOptions {
  readonly tag?: string;
  /** The name of the document in messages. */
  readonly file?: string;
  /** Called with the name before anything is written; throws if the publisher does not own its scope. */
  readonly checkName?: (name: string) => void;
}

export async function openStore(folder: string, options: StoreOptions = {}): Promise<RegistryStore> {
  const { now = () => new Date(), validForMs = WEEK_MS, permissions = [], writeBytes } = options;
  const layout = layoutOf(folder);
  for (const path of [layout.versions, layout.files]) await mkdir(path, { recursive: true });
  const index = await openIndexFile(layout, { now, validForMs, writeBytes });
  const counts = await openCounts(layout.counts, options.report ?? (() => {}));
  const stars = await openStars(layout.stars);
  const quotas = openQuotas(layout.quotas, { ...QUOTA_DEFAULTS, ...options.quota }, now);
  const documents = new Map<string, PackageMetadata>();
  let prepared: { readonly of: IndexState; readonly search: SearchIndex } | undefined;
  // Under the lock, so that no version that is being published loses its file.
  await withFileLock(layout.index, async () =>
    sweepUploads(layout, usedFiles((await index.read()).index), now().getTime()),
  );

  const publish = async (
    text: string,
    { tag, file = "package.json", checkName }: PublishOptions,
  ): Promise<Published> => {
    if (tag !== undefined && !isTagName(tag))
      throw new PortolanError("INPUT_INVALID", `${JSON.stringify(tag.slice(0, 60))} cannot be a tag.`, {
        hint: "Write a lower-case word that is neither a version nor a hexadecimal number, such as beta.",
        data: { status: 422 },
      });
    const version = prepareVersion(text, file, now(), permissions);
    const { name } = version.metadata;
    checkName?.(name);
    let files: string[] = [];
    const { index: after } = await index.update(async (before) => {
      files = await hostedFiles(layout, version.metadata);
      const packages = addVersion(before, version, { tag, files });
      const path = join(layout.versions, `${fileName(integrityOf(version.bytes))}.json`);
      await writeAtomic(path, version.bytes, { mode: 0o644, writeBytes });
      return { packages, advisories: before.advisories };
    });
    return {
      ...{ name, version: version.metadata.version, integrity: version.integrity, files },
      tags: after.packages[name]?.tags ?? {},
      warnings: version.diagnostics,
    };
  };

  const store: RegistryStore = {
    ...{ layout, publicKey: index.publicKey, tokens: openTokens(layout.tokens, now) },
    ...{ counts, stars, quotas, publish },
    read: () => index.read(),
    search: async () => {
      const state = await index.read();
      if (prepared?.of !== state)
        prepared = { of: state, search: createSearch(state.index, (name) => counts.total(name)) };
      return prepared.search;
    },
    readVersion: async (integrity) => {
      const known = documents.get(integrity);
      if (known !== undefined) return known;
      const expected = parseIntegrity(integrity);
      const path = expected && join(layout.versions, `${fileName(expected)}.json`);
      const bytes = path === undefined ? undefined : await readLimited(path, MAX_DOCUMENT_BYTES * 2);
      if (expected === undefined || bytes === undefined || !sameIntegrity(integrityOf(bytes), expected))
        throw new PortolanError(
          "FILE_FAILED",
          `The version file ${path ?? integrity} does not match its hash.`,
          {
            hint: "Restore the file from a backup.",
          },
        );
      const document = JSON.parse(bytes.toString("utf8")) as PackageMetadata;
      const [oldest] = documents.keys();
      if (documents.size >= MAX_CACHED && oldest !== undefined) documents.delete(oldest);
      documents.set(integrity, document);
      return document;
    },
    upload: (content, upload) => storeUpload(layout, content, upload),
    changeStatus: async (name, change) => {
      let changed: readonly string[] = [];
      await index.update(async (before) => {
        const result = changeStatus(before, name, change, now());
        changed = result.changed;
        return changed.length === 0
          ? undefined
          : { packages: result.packages, advisories: before.advisories };
      });
      if (change.status === "deleted")
        await withFileLock(layout.index, async () => removeUnused(layout, (await index.read()).index, name));
      return changed;
    },
    publishAdvisory: async (value, owns) => {
      let advisory: Advisory | undefined;
      await index.update(async ({ packages, advisories }) => {
        const id = (value as { id?: unknown } | null)?.id;
        const before = advisories.find((one) => one.id === id);
        const { advisory: parsed, problems } = parseAdvisory(value, now(), before);
        if (parsed === undefined) throw invalidAdvisory(problems);
        for (const name of [...Object.keys(parsed.affected), ...Object.keys(before?.affected ?? {})])
          if (!owns(scopeOf(name) ?? "")) throw notOwned(name);
        if (before === undefined && advisories.length >= MAX_ADVISORIES)
          throw invalidAdvisory([
            `The registry already has ${MAX_ADVISORIES} advisories, which is the maximum.`,
          ]);
        advisory = parsed;
        return { packages, advisories: [...advisories.filter((one) => one.id !== id), parsed] };
      });
      return advisory as Advisory & object;
    },
    sign: () => index.update(async (before) => before),
    close: () => counts.close(),
    [Symbol.asyncDispose]: () => counts.close(),
  };
  return store;
}

export function notOwned(name: string): PortolanError {
  return new PortolanError("FORBIDDEN", `This token does not own the scope of ${name}.`, {
    hint: `Ask the operator of the registry for a token of this scope. The operator creates it: portolan registry token add ${scopeOf(name) ?? "<scope>"}.`,
  });
}

/** The files of a package that were uploaded before. The size of the main file must be the one that the package names. */
async function hostedFiles(layout: Layout, metadata: PackageMetadata): Promise<string[]> {
  const found: string[] = [];
  const main = metadata.source.hash === undefined ? undefined : parseIntegrity(metadata.source.hash);
  for (const hash of declaredHashes(metadata)) {
    const parsed = parseIntegrity(hash);
    const size = parsed && (await sizeOf(join(layout.files, fileName(parsed))));
    if (size === undefined || parsed === undefined) continue;
    const { size: declared } = metadata.source;
    if (declared !== undefined && main !== undefined && sameIntegrity(main, parsed) && declared !== size)
      throw new PortolanError(
        "INPUT_INVALID",
        `source.size is ${declared}, but the uploaded file has ${size} bytes.`,
        {
          hint: "Correct source.size.",
          data: { status: 422 },
        },
      );
    found.push(hash);
  }
  return found;
}

/** The names of all files that the index names. Documents of deleted versions stay. */
function usedFiles({ packages }: Pick<RegistryIndex, "packages">): Set<string> {
  const used = new Set<string>();
  const add = (hash: string, suffix: string): void => {
    const parsed = parseIntegrity(hash);
    if (parsed !== undefined) used.add(`${fileName(parsed)}${suffix}`);
  };
  for (const { versions } of Object.values(packages))
    for (const { integrity, files = [], status } of Object.values(versions)) {
      add(integrity, ".json");
      for (const file of status === "deleted" ? [] : files) add(file, "");
    }
  return used;
}

/** Removes the files of deleted versions that no other version has. A crash before this leaves them to the next sweep. */
async function removeUnused(layout: Layout, index: RegistryIndex, name: string): Promise<void> {
  const used = usedFiles(index);
  const { versions }: Pick<IndexPackage, "versions"> = index.packages[name] ?? { versions: {} };
  for (const { files = [], status } of Object.values(versions))
    for (const file of status === "deleted" ? files : []) {
      const parsed = parseIntegrity(file);
      if (parsed !== undefined && !used.has(fileName(parsed)))
        await rm(join(layout.files, fileName(parsed)), { force: true });
    }
}

function invalidAdvisory(problems: readonly string[]): PortolanError {
  return new PortolanError("INPUT_INVALID", `The advisory has errors:\n- ${problems.join("\n- ")}`, {
    hint: "Correct the fields that the message names.",
    data: { status: 422, problems },
  });
}
