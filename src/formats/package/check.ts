// Rules of a package's metadata that a schema cannot express: versions, hashes, URLs, unique names, permissions.

import { parseIntegrity } from "../../base/text/integrity.ts";
import { parseRange, parseVersion } from "../../base/text/versions.ts";
import { isSecureUrl, parseUrl } from "../../base/net/urls.ts";
import { isObject, LEGACY_REVISIONS, MODERN_REVISION } from "../../model/index.ts";
import { type Diagnostics, entryOf, nodeAt, quoted, type TextNode, toLabel } from "../document/index.ts";
import { readToolSchema } from "../driver/index.ts";
import { DRIVER_FILE, type PackageValue } from "./schema.ts";
import { impliesNetwork, isKnownPermission } from "./security.ts";

/**
 * `strict` is for publishing and installing. In a `draft`, what a person must still fill in (hashes, the audit, dates)
 * is a warning.
 */
export type PackageMode = "draft" | "strict";

export interface PackageCheck {
  readonly root: TextNode;
  readonly diagnostics: Diagnostics;
  readonly mode: PackageMode;
  /** Permissions of services that this host knows beyond the usual ones. */
  readonly permissions: readonly string[];
  /** Fields that are set later, so that their absence is no error. */
  readonly setLater: readonly LaterField[];
  readonly now: Date;
}

/** The registry sets `publishedAt`. The upload of a file to a registry sets `url`. */
export type LaterField = "publishedAt" | "url";

export function checkPackage(value: PackageValue, check: PackageCheck): void {
  checkVersions(value, check);
  checkCapabilities(value, check);
  checkConfiguration(value, check);
  checkSource(value, check);
  checkSecurity(value, check);
  checkMetadata(value, check);
}

type Path = readonly (string | number)[];

/** The node at a path, or the nearest one above it if a field is absent. */
function place({ root }: PackageCheck, path: Path): TextNode {
  for (let length = path.length; length > 0; length -= 1) {
    const node = nodeAt(root, ...path.slice(0, length));
    if (node !== undefined) return node;
  }
  return root;
}

function error(check: PackageCheck, path: Path, message: string, hint?: string): void {
  check.diagnostics.add(place(check, path), `${toLabel(path)} ${message}`, hint);
}

/** Reports a part that a person must still fill in. */
function unfinished(check: PackageCheck, path: Path, message: string, hint: string): void {
  const severity = check.mode === "strict" ? "error" : "warning";
  check.diagnostics.add(place(check, path), `${toLabel(path)} ${message}`, hint, severity);
}

function warn(check: PackageCheck, path: Path, message: string, hint?: string): void {
  check.diagnostics.warn(place(check, path), `${toLabel(path)} ${message}`, hint);
}

function checkVersions({ version, mcp, requirements }: PackageValue, check: PackageCheck): void {
  const parsed = version === undefined ? undefined : parseVersion(version);
  if (version !== undefined && (parsed === undefined || /^[v=\s]/.test(version)))
    error(check, ["version"], `${quoted(version)} is not a version`, "Write three numbers: 1.2.3.");
  else if (version !== undefined && !/^\d+\.\d+\.\d+$/.test(version))
    warn(check, ["version"], `${quoted(version)} is a prerelease`, "Ranges such as ^1 do not include it.");
  const revision = mcp?.version;
  if (revision === "0.1.0")
    warn(
      check,
      ["mcp", "version"],
      "0.1.0 is not a revision of MCP; the revision is negotiated at the start",
      `Write the revision that the server was made for, such as ${MODERN_REVISION}.`,
    );
  else if (revision !== undefined && ![...LEGACY_REVISIONS, MODERN_REVISION].includes(revision))
    error(
      check,
      ["mcp", "version"],
      `${quoted(revision)} is not a supported revision of MCP`,
      `Write one of ${[...LEGACY_REVISIONS, MODERN_REVISION].join(", ")}.`,
    );
  const { mlldVersion, runtime } = requirements ?? {};
  checkRange(check, ["requirements", "mlldVersion"], mlldVersion);
  checkRange(check, ["requirements", "runtime", "node"], runtime?.node);
  checkRange(check, ["requirements", "runtime", "python"], runtime?.python);
}

function checkRange(check: PackageCheck, path: Path, range: string | undefined): void {
  if (range !== undefined && parseRange(range) === undefined)
    error(check, path, `${quoted(range)} is not a range of versions`, "Write a range of npm: >=18.0.0.");
}

function checkCapabilities({ mcp }: PackageValue, check: PackageCheck): void {
  const path = ["mcp", "capabilities"];
  for (const kind of ["tools", "prompts"] as const) {
    const items = nodeAt(check.root, ...path, kind);
    checkUniqueNames(items?.kind === "list" ? items.items : [], check);
  }
  const tools = nodeAt(check.root, ...path, "tools");
  for (const tool of tools?.kind === "list" ? tools.items : [])
    checkJsonSchema(nodeAt(tool, "parameters"), check);
  const uris = nodeAt(check.root, ...path, "resources");
  for (const [index, { uri }] of (mcp?.capabilities?.resources ?? []).entries()) {
    if (/^[a-z][a-z0-9+.-]*:[^\s<>"\\^`|]+$/i.test(uri)) continue;
    const node = uris?.kind === "list" ? nodeAt(uris.items[index], "uri") : undefined;
    check.diagnostics.add(
      node ?? check.root,
      `${quoted(uri)} is not a URI or a pattern of URIs`,
      "Write a scheme and a path: github://repos/*.",
    );
  }
  checkDriverFiles(mcp?.driver, check);
  const { executable } = mcp ?? {};
  if (executable !== undefined && /(^|\/)DRIVER\.md$/i.test(executable))
    error(
      check,
      ["mcp", "executable"],
      "is a driver, which is not a program",
      "Make the package of the driver's server: portolan pack <folder>/DRIVER.md.",
    );
  if (
    executable !== undefined &&
    (/^([/\\~-]|[A-Za-z]:)/.test(executable) || /(^|[/\\])\.\.([/\\]|$)|\\|\0/.test(executable))
  )
    error(
      check,
      ["mcp", "executable"],
      `${quoted(executable)} is not inside of the package`,
      "Write the name of a program, or a path from the top of the package: bin/server.",
    );
}

const MAX_DRIVER_FILES = 200;

function checkDriverFiles(files: Readonly<Record<string, string>> | undefined, check: PackageCheck): void {
  if (files === undefined) return;
  const path = ["mcp", "driver"];
  const names = Object.keys(files);
  const other = names.find((name) => !new RegExp(DRIVER_FILE).test(name));
  if (other !== undefined)
    error(
      check,
      [...path, other],
      "is not a file of a driver",
      "Its files are DRIVER.md and tools/<id>/TOOL.md.",
    );
  if (names.length > MAX_DRIVER_FILES)
    error(check, path, `has ${names.length} files; at most ${MAX_DRIVER_FILES} are allowed`);
  else if (!names.includes("DRIVER.md") || names.length < 2)
    error(
      check,
      path,
      "must have DRIVER.md and the TOOL.md of each contract",
      "Pack the driver: portolan pack <folder>/DRIVER.md.",
    );
}

function checkUniqueNames(items: readonly TextNode[], { diagnostics }: PackageCheck): void {
  const seen = new Map<string, TextNode>();
  for (const item of items) {
    const name = nodeAt(item, "name");
    if (name?.kind !== "string") continue;
    const first = seen.get(String(name.value));
    if (first === undefined) seen.set(String(name.value), name);
    else
      diagnostics.add(
        name,
        `${toLabel(name.path)} ${quoted(String(name.value))} is already the name at line ${first.line}, column ${first.column}`,
        "Give one of them another name.",
      );
  }
}

function checkJsonSchema(node: TextNode | undefined, { diagnostics }: PackageCheck): void {
  if (node === undefined || node.kind === "null") return;
  if (node.kind === "object") readToolSchema(node, diagnostics, true);
  else diagnostics.add(node, `${toLabel(node.path)} must be a JSON Schema: an object`);
}

/** The environment variable of a setting: `github_token` is passed as `GITHUB_TOKEN`. */
export function variableOf(setting: string, env: Readonly<Record<string, string>> = {}): string {
  const named = Object.hasOwn(env, setting) ? env[setting] : undefined;
  return (
    named ??
    setting
      .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
      .replace(/[^A-Za-z0-9]+/g, "_")
      .toUpperCase()
  );
}

/** The value of a setting in its environment variable. A list has commas between its items, or is JSON if that is ambiguous. */
export function settingText(value: unknown): string {
  if (typeof value === "string") return value;
  const isPlain = (item: unknown): boolean =>
    typeof item === "string" ? !item.includes(",") : ["number", "boolean"].includes(typeof item);
  return Array.isArray(value) && value.every(isPlain) ? value.map(String).join(",") : JSON.stringify(value);
}

function checkConfiguration({ mcp }: PackageValue, check: PackageCheck): void {
  const { schema, env } = mcp?.configuration ?? {};
  const path = ["mcp", "configuration"];
  checkJsonSchema(nodeAt(check.root, ...path, "schema"), check);
  const properties = isObject(schema) && isObject(schema.properties) ? Object.keys(schema.properties) : [];
  for (const name of Object.keys(env ?? {}))
    if (!properties.includes(name))
      error(
        check,
        [...path, "env", name],
        "is not a setting of the schema",
        properties.length === 0
          ? "The schema has no settings."
          : `The settings are ${properties.join(", ")}.`,
      );
  const used = new Map<string, string>();
  for (const name of properties) {
    const variable = variableOf(name, env);
    const first = used.get(variable);
    used.set(variable, first ?? name);
    if (!/^[A-Z_][A-Z0-9_]*$/i.test(variable))
      error(
        check,
        [...path, "schema", "properties", name],
        "cannot be the name of a variable",
        `Name one under mcp.configuration.env.`,
      );
    else if (first !== undefined)
      error(
        check,
        [...path, "schema", "properties", name],
        `uses the environment variable ${variable}, as ${first} does`,
        "Name another one under mcp.configuration.env.",
      );
  }
}

function checkSource({ source, requirements }: PackageValue, check: PackageCheck): void {
  if (source === undefined) return;
  const { type, url, hash, size, platforms = {} } = source;
  if (url === undefined && !check.setLater.includes("url"))
    error(
      check,
      ["source", "url"],
      "is missing",
      "Write the URL of the file, or upload the file: portolan publish --file <path>.",
    );
  if (type !== undefined && url !== undefined) checkSourceUrl(check, ["source", "url"], type, url);
  checkHash(check, ["source", "hash"], hash);
  if (size === undefined)
    warn(
      check,
      ["source", "size"],
      "is missing",
      "Write the size of the file in bytes: the download stops there.",
    );
  for (const [platform, file] of Object.entries(platforms)) {
    const path = ["source", "platforms", platform];
    const entry = entryOf(nodeAt(check.root, "source", "platforms"), platform);
    if (!/^(darwin|linux|win32)-(x64|arm64|ia32|arm)$/.test(platform))
      check.diagnostics.add(
        entry ?? check.root,
        `${quoted(platform)} is not a platform`,
        "Write <os>-<arch> as Node.js names them: darwin-arm64, linux-x64, win32-x64.",
      );
    if (type !== undefined) checkSourceUrl(check, [...path, "url"], type, file.url);
    checkHash(check, [...path, "hash"], file.hash);
  }
  const { os = [], arch = [] } = requirements ?? {};
  const without = os
    .flatMap((one) => arch.map((other) => `${one}-${other}`))
    .filter((name) => !Object.hasOwn(platforms, name));
  if (Object.keys(platforms).length > 0 && without.length > 0)
    warn(
      check,
      ["source", "platforms"],
      `has no file for ${without.join(", ")}, so source.url is used there`,
      "Add the files, or remove the platforms from requirements.",
    );
}

/** URLs that lead to other content tomorrow are refused: the hash would no longer match. */
function checkSourceUrl(check: PackageCheck, path: Path, type: string, url: string): void {
  if (type === "npm" && /^npm:(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*@[^@\s/]+$/.test(url)) {
    const version = url.slice(url.lastIndexOf("@") + 1);
    if (parseVersion(version) === undefined)
      error(check, path, `${quoted(version)} is not an exact version`, "Write npm:<package>@1.2.3.");
    return;
  }
  const parsed = parseUrl(url);
  if (parsed === undefined || !isSecureUrl(parsed))
    error(
      check,
      path,
      `${quoted(url)} is not an https URL`,
      type === "npm" ? "Write npm:<package>@<version>, or an https URL." : "Write an https URL.",
    );
  else if ((type === "github" || type === "gist") && !isPinned(parsed))
    error(
      check,
      path,
      "points neither to a commit nor to a file of a release",
      "Use the URL with the full hash of the commit (40 digits), or of a release's file.",
    );
}

function isPinned(url: URL): boolean {
  return (
    /\/[0-9a-f]{40}([/.]|$)/.test(url.pathname) || /\/releases\/download\/[^/]+\/[^/]+$/.test(url.pathname)
  );
}

function checkHash(check: PackageCheck, path: Path, hash: string | undefined): void {
  const hint = "Run portolan pack to compute it, or write sha256-<base64>.";
  if (hash === undefined) unfinished(check, path, "is missing", hint);
  else if (parseIntegrity(hash) === undefined) unfinished(check, path, `${quoted(hash)} is not a hash`, hint);
}

function checkSecurity({ security }: PackageValue, check: PackageCheck): void {
  if (security === undefined) return;
  const { permissions = [], sandbox, audit } = security;
  for (const [index, name] of permissions.entries())
    if (!isKnownPermission(name) && !check.permissions.includes(name))
      unfinished(
        check,
        ["security", "permissions", index],
        `${quoted(name)} is not a known permission`,
        "The permissions are network, filesystem, process, and services such as github-api.",
      );
  if (permissions.includes("process") && sandbox?.required !== true)
    unfinished(
      check,
      ["security", "sandbox"],
      "is required, because the server may start processes",
      'Write "sandbox": { "required": true, "type": "process" }.',
    );
  if (permissions.some(impliesNetwork)) checkAudit(audit, check);
  else if (audit !== undefined) checkAuditValues(audit, check);
}

type Audit = NonNullable<NonNullable<PackageValue["security"]>["audit"]>;

function checkAudit(audit: Audit | undefined, check: PackageCheck): void {
  const missing = (["lastReviewed", "reviewer", "report"] as const).filter(
    (name) => audit?.[name] === undefined,
  );
  if (missing.length > 0)
    unfinished(
      check,
      ["security", "audit"],
      `must have ${missing.join(", ")}, because the server uses the network`,
      "Have the server reviewed, and write who reviewed it, when, and the https URL of the report.",
    );
  checkAuditValues(audit ?? {}, check);
}

function checkAuditValues({ lastReviewed, report }: Audit, check: PackageCheck): void {
  const path = ["security", "audit"];
  checkDate(check, [...path, "lastReviewed"], lastReviewed);
  if (lastReviewed !== undefined && Date.parse(lastReviewed) > check.now.getTime())
    error(check, [...path, "lastReviewed"], `${quoted(lastReviewed)} is in the future`);
  checkHttps(check, [...path, "report"], report);
}

function checkMetadata({ author, metadata }: PackageValue, check: PackageCheck): void {
  checkHttps(check, ["author", "url"], author?.url);
  if (metadata === undefined) return;
  const { publishedAt, updatedAt, homepage, bugs, repository } = metadata;
  const isAbsent = (name: string): boolean => nodeAt(check.root, "metadata", name) === undefined;
  if (isAbsent("publishedAt") && !check.setLater.includes("publishedAt"))
    unfinished(
      check,
      ["metadata", "publishedAt"],
      "is missing",
      "A registry sets it when the package is published.",
    );
  if (isAbsent("license"))
    unfinished(check, ["metadata", "license"], "is missing", "Write an SPDX expression, such as MIT.");
  checkDate(check, ["metadata", "publishedAt"], publishedAt);
  checkDate(check, ["metadata", "updatedAt"], updatedAt);
  checkHttps(check, ["metadata", "homepage"], homepage);
  checkHttps(check, ["metadata", "bugs"], bugs);
  checkHttps(check, ["metadata", "repository"], repository);
}

function checkDate(check: PackageCheck, path: Path, date: string | undefined): void {
  if (date === undefined) return;
  const form = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;
  if (!form.test(date) || Number.isNaN(Date.parse(date)))
    error(check, path, `${quoted(date)} is not a date`, "Write it as 2026-01-15T10:00:00Z.");
}

function checkHttps(check: PackageCheck, path: Path, url: string | undefined): void {
  const parsed = url === undefined ? undefined : parseUrl(url);
  if (url !== undefined && (parsed === undefined || !isSecureUrl(parsed)))
    error(check, path, `${quoted(url)} is not an https URL`, "Write an https URL.");
}
