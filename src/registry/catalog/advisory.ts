// Advisories: known vulnerabilities of packages, read with all their errors, and matched against a version.

import { parseRange, parseVersion, satisfies } from "../../base/text/versions.ts";
import { isSecureUrl, parseUrl } from "../../base/net/urls.ts";
import { isObject } from "../../model/index.ts";
import { type Advisory, scopeOf, type Severity } from "./types.ts";

const SEVERITIES: readonly Severity[] = ["critical", "high", "medium", "low"];
const MAX_TITLE = 99;
const MAX_DETAILS = 20_000;
const MAX_ITEMS = 100;
const ID = /^[A-Z]{2,12}-[A-Za-z0-9]{2,20}(-[A-Za-z0-9]{2,20}){0,4}$/;

export interface AdvisoryResult {
  /** Absent if the document has errors. */
  readonly advisory?: Advisory;
  readonly problems: readonly string[];
}

/** Reads an advisory that somebody publishes. The registry sets the dates. */
export function parseAdvisory(value: unknown, now: Date, before?: Advisory): AdvisoryResult {
  const problems: string[] = [];
  const wrong = (isWrong: boolean, problem: string): void => {
    if (isWrong) problems.push(problem);
  };
  if (!isObject(value)) return { problems: ["An advisory must be an object."] };
  const {
    id,
    title,
    severity,
    summary,
    details,
    cwe,
    affected,
    patches,
    workarounds,
    references,
    reporter,
    withdrawn,
  } = value;
  wrong(typeof id !== "string" || !ID.test(id), "id must be an identifier such as MLLD-2026-0001.");
  wrong(!isText(title, MAX_TITLE), `title must be a text of at most ${MAX_TITLE} characters.`);
  wrong(!SEVERITIES.some((one) => one === severity), `severity must be one of ${SEVERITIES.join(", ")}.`);
  wrong(!isText(summary, 2_000), "summary must be a text of at most 2000 characters.");
  for (const [name, text] of Object.entries({ details, patches, workarounds }))
    wrong(
      text !== undefined && !isText(text, MAX_DETAILS),
      `${name} must be a text of at most ${MAX_DETAILS} characters.`,
    );
  wrong(
    cwe !== undefined && !isList(cwe, (one) => typeof one === "string" && /^CWE-\d{1,5}$/.test(one)),
    "cwe must be a list of identifiers such as CWE-79.",
  );
  wrong(
    references !== undefined && !isList(references, isHttpsUrl),
    "references must be a list of https URLs.",
  );
  wrong(
    reporter !== undefined && (!isObject(reporter) || !isText(reporter["name"], 200)),
    "reporter must be an object with a name.",
  );
  wrong(
    withdrawn !== undefined && withdrawn !== true && !isDate(withdrawn),
    "withdrawn must be true or a date.",
  );
  problems.push(...affectedProblems(affected));
  if (problems.length > 0) return { problems };
  const date = now.toISOString();
  const advisory = {
    ...{ id, title, severity, summary, details, cwe, affected, patches, workarounds, references, reporter },
    published: before?.published ?? date,
    updated: date,
    ...(withdrawn === undefined ? {} : { withdrawn: before?.withdrawn ?? date }),
  };
  return { advisory: JSON.parse(JSON.stringify(advisory)) as Advisory, problems };
}

/** Reads an advisory of an index. Returns undefined if it has errors. */
export function readAdvisory(value: unknown): Advisory | undefined {
  if (!isObject(value) || !isDate(value["published"]) || !isDate(value["updated"])) return undefined;
  const { advisory } = parseAdvisory(value, new Date(0));
  if (advisory === undefined) return undefined;
  const { published, updated, withdrawn } = value;
  return {
    ...advisory,
    published,
    updated,
    ...(typeof withdrawn === "string" ? { withdrawn } : {}),
  };
}

/** The advisories of a version, the worst first. Withdrawn ones are left out. `hashes` are those of its files, in hexadecimal. */
export function advisoriesFor(
  advisories: readonly Advisory[],
  name: string,
  version?: string,
  hashes: readonly string[] = [],
): Advisory[] {
  return advisories
    .filter(({ affected, withdrawn }) => {
      const found = Object.hasOwn(affected, name) ? affected[name] : undefined;
      if (found === undefined || withdrawn !== undefined) return false;
      const { versions, hashes: prefixes = [] } = found;
      if (version === undefined) return true;
      // Without ranges and hashes, every version is affected.
      if (versions === undefined && prefixes.length === 0) return true;
      return (
        (versions ?? []).some((range) => isIn(version, range)) ||
        prefixes.some((prefix) => hashes.some((hash) => hash.startsWith(prefix)))
      );
    })
    .sort(
      (a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || (a.id < b.id ? -1 : 1),
    );
}

/** A prerelease of an affected version is affected too, which ranges of npm deny: `1.2.0-rc.1` is not in `<2`. */
function isIn(text: string, range: string): boolean {
  if (satisfies(text, range)) return true;
  const version = parseVersion(text);
  return (
    version !== undefined &&
    version.prerelease.length > 0 &&
    satisfies(`${version.major}.${version.minor}.${version.patch}`, range)
  );
}

function affectedProblems(affected: unknown): string[] {
  if (!isObject(affected) || Object.keys(affected).length === 0 || Object.keys(affected).length > MAX_ITEMS)
    return [`affected must be an object that names 1 to ${MAX_ITEMS} packages.`];
  return Object.entries(affected).flatMap(([name, value]) => {
    const shown = JSON.stringify(name.slice(0, 100));
    if (scopeOf(name) === undefined) return [`affected: ${shown} is not the name of a package.`];
    if (!isObject(value))
      return [`affected: ${shown} must be an object, which can have versions and hashes.`];
    const { versions, hashes } = value;
    return [
      ...(versions === undefined ||
      isList(versions, (range) => typeof range === "string" && parseRange(range) !== undefined)
        ? []
        : [`affected: versions of ${shown} must be a list of ranges such as <1.2.3.`]),
      ...(hashes === undefined ||
      isList(hashes, (hash) => typeof hash === "string" && /^[0-9a-f]{4,128}$/.test(hash))
        ? []
        : [
            `affected: hashes of ${shown} must be a list of beginnings of hashes, each of at least 4 lower-case hexadecimal digits.`,
          ]),
    ];
  });
}

function isText(value: unknown, most: number): value is string {
  return typeof value === "string" && value.trim() !== "" && value.length <= most;
}

function isList(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length <= MAX_ITEMS && value.every(isItem);
}

function isHttpsUrl(value: unknown): boolean {
  const url = typeof value === "string" && value.length <= 2_000 ? parseUrl(value) : undefined;
  return url !== undefined && isSecureUrl(url);
}

function isDate(value: unknown): value is string {
  return typeof value === "string" && value.length <= 40 && !Number.isNaN(Date.parse(value));
}
