// Reads the index of a registry: every name, version, hash and date is checked, because the registry may be hostile.

import { parseIntegrity } from "../../base/text/integrity.ts";
import { parseVersion } from "../../base/text/versions.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import { readAdvisory } from "./advisory.ts";
import {
  type Advisory,
  type IndexPackage,
  type IndexVersion,
  type RegistryIndex,
  scopeOf,
  type VersionStatus,
} from "./types.ts";

const MAX_TEXT = 500;
const MAX_KEYWORDS = 50;
const MAX_VERSIONS = 10_000;
const STATUSES: readonly VersionStatus[] = ["active", "deprecated", "deleted"];

/** Throws an error with the first part that is wrong. An index is written by a program, so one error is enough. */
export function parseIndex(bytes: Uint8Array, source: string): RegistryIndex {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
  } catch (error) {
    throw invalid(source, (error as Error).message);
  }
  if (!isObject(value)) throw invalid(source, "it is not an object");
  if (value["format"] !== 1)
    throw new PortolanError(
      "VERSION_UNSUPPORTED",
      `${source} has the format ${String(value["format"])}, which this version of Portolan does not support`,
      {
        hint: "Update Portolan.",
      },
    );
  const { sequence, issuedAt, expiresAt, packages, advisories } = value;
  if (!Number.isSafeInteger(sequence) || (sequence as number) < 1)
    throw invalid(source, "sequence is not a positive integer");
  if (!isDate(issuedAt) || !isDate(expiresAt)) throw invalid(source, "issuedAt or expiresAt is not a date");
  if (!isObject(packages) || !Array.isArray(advisories))
    throw invalid(source, "packages is not an object, or advisories is not a list");
  const parsed: Record<string, IndexPackage> = {};
  for (const [name, entry] of Object.entries(packages)) {
    const found = scopeOf(name) === undefined || !isObject(entry) ? undefined : toPackage(entry);
    if (found === undefined)
      throw invalid(source, `the entry of the package ${JSON.stringify(name.slice(0, 100))} is not valid`);
    parsed[name] = found;
  }
  return {
    format: 1,
    sequence: sequence as number,
    issuedAt,
    expiresAt,
    packages: parsed,
    advisories: advisories.map((entry, number): Advisory => {
      const advisory = readAdvisory(entry);
      if (advisory === undefined) throw invalid(source, `the advisory number ${number + 1} is not valid`);
      return advisory;
    }),
  };
}

function toPackage(entry: JsonObject): IndexPackage | undefined {
  const { description, keywords = [], author, license, tags, versions } = entry;
  if (!isText(description) || !isText(author) || !isTexts(keywords, MAX_KEYWORDS)) return undefined;
  if ((license !== undefined && !isText(license)) || !isObject(tags) || !isObject(versions)) return undefined;
  const all = Object.entries(versions);
  if (all.length > MAX_VERSIONS) return undefined;
  const parsed: Record<string, IndexVersion> = {};
  for (const [version, value] of all) {
    const found = parseVersion(version) === undefined || !isObject(value) ? undefined : toVersion(value);
    if (found === undefined) return undefined;
    parsed[version] = found;
  }
  const tagged: Record<string, string> = {};
  for (const [tag, version] of Object.entries(tags)) {
    if (!/^[a-z][a-z0-9-]{0,49}$/.test(tag) || typeof version !== "string") return undefined;
    if (!Object.hasOwn(parsed, version)) return undefined;
    tagged[tag] = version;
  }
  return {
    description,
    keywords,
    author,
    ...(license === undefined ? {} : { license }),
    tags: tagged,
    versions: parsed,
  };
}

function toVersion({
  integrity,
  status,
  message,
  publishedAt,
  changedAt,
  files,
}: JsonObject): IndexVersion | undefined {
  if (typeof integrity !== "string" || parseIntegrity(integrity)?.algorithm !== "sha256") return undefined;
  const known = STATUSES.find((one) => one === status);
  if (known === undefined || !isDate(publishedAt)) return undefined;
  if (message !== undefined && !isText(message)) return undefined;
  if (changedAt !== undefined && !isDate(changedAt)) return undefined;
  if (
    files !== undefined &&
    (!isTexts(files, 50) || files.some((file) => parseIntegrity(file) === undefined))
  )
    return undefined;
  return {
    integrity,
    status: known,
    publishedAt,
    ...(message === undefined ? {} : { message }),
    ...(changedAt === undefined ? {} : { changedAt }),
    ...(files === undefined ? {} : { files }),
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT;
}

function isTexts(value: unknown, most: number): value is string[] {
  return Array.isArray(value) && value.length <= most && value.every(isText);
}

function isDate(value: unknown): value is string {
  return typeof value === "string" && value.length <= 40 && !Number.isNaN(Date.parse(value));
}

function invalid(source: string, what: string): PortolanError {
  return new PortolanError("PROTOCOL_ERROR", `${source} is not a valid index: ${what}`, {
    hint: "Report this to the operator of the registry.",
  });
}
