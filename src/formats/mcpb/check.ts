// Rules of an MCPB manifest that a schema cannot express: its version, paths inside of the bundle, URLs, placeholders, defaults.

import { parseUrl } from "../../base/net/urls.ts";
import { parseRange, parseVersion } from "../../base/text/versions.ts";
import { didYouMean } from "../../errors/index.ts";
import { type Diagnostics, entryOf, nodeAt, quoted, type TextNode, toLabel } from "../document/index.ts";
import { placeholdersIn } from "./placeholders.ts";
import { MANIFEST, type ManifestValue, MCP_CONFIG, type McpbSetting, SERVER } from "./schema.ts";

/** The version that each of these keys came with. */
const NEWER_KEYS = { privacy_policies: "0.2", icons: "0.3", localization: "0.3", _meta: "0.3" } as const;

/** More settings than a person would fill in. */
const MAX_SETTINGS = 200;

type Path = readonly (string | number)[];

interface Check {
  readonly root: TextNode;
  readonly diagnostics: Diagnostics;
}

export function checkManifest(value: ManifestValue, root: TextNode, diagnostics: Diagnostics): void {
  const check = { root, diagnostics };
  checkKeys(check);
  checkVersions(value, check);
  checkUrls(value, check);
  checkServer(value, check);
  checkSettings(value, check);
  checkPlaceholders(value, check);
}

function place({ root }: Check, path: Path): TextNode {
  for (let length = path.length; length > 0; length -= 1) {
    const node = nodeAt(root, ...path.slice(0, length));
    if (node !== undefined) return node;
  }
  return root;
}

function error(check: Check, path: Path, message: string, hint?: string): void {
  check.diagnostics.add(place(check, path), `${toLabel(path)} ${message}`, hint);
}

function warn(check: Check, path: Path, message: string, hint?: string): void {
  check.diagnostics.warn(place(check, path), `${toLabel(path)} ${message}`, hint);
}

/** A misspelt key changes how the server runs, so that unknown ones are reported where they would matter. */
function checkKeys({ root, diagnostics }: Check): void {
  const places = [
    { path: [], schema: MANIFEST },
    { path: ["server"], schema: SERVER },
    { path: ["server", "mcp_config"], schema: MCP_CONFIG },
  ];
  for (const { path, schema } of places) {
    const node = nodeAt(root, ...path);
    const known = [...(schema.rules.keys?.values() ?? [])];
    for (const entry of node?.kind === "object" ? node.entries : [])
      if (!known.includes(entry.key))
        diagnostics.warn(
          entry,
          `${quoted(entry.key)} is not a key of this format, and is ignored`,
          didYouMean(entry.key, known),
        );
  }
}

function checkVersions({ manifestVersion, dxtVersion, version, compatibility }: ManifestValue, check: Check) {
  const isWritten = ["manifest_version", "dxt_version"].some((key) => {
    const entry = entryOf(check.root, key);
    return entry !== undefined && entry.value.kind !== "null";
  });
  if (!isWritten)
    check.diagnostics.add(
      check.root,
      "manifest_version is missing",
      'Write "manifest_version": "0.3" into the manifest.json of the bundle.',
    );
  else if (manifestVersion !== undefined && dxtVersion !== undefined && manifestVersion !== dxtVersion)
    error(check, ["dxt_version"], `is ${dxtVersion}, but manifest_version is ${manifestVersion}`);
  const format = manifestVersion ?? dxtVersion;
  for (const [key, since] of Object.entries(NEWER_KEYS))
    if (format !== undefined && format < since && entryOf(check.root, key) !== undefined)
      warn(check, [key], `belongs to manifest_version ${since}, but this manifest has ${format}`);
  if (version !== undefined && parseVersion(version) === undefined)
    warn(check, ["version"], `${quoted(version)} is not a version`, "Write three numbers: 1.2.3.");
  const { node, python } = compatibility?.runtimes ?? {};
  for (const [name, range] of Object.entries({ node, python }))
    if (range !== undefined && parseRange(toNpmRange(range)) === undefined)
      warn(check, ["compatibility", "runtimes", name], `${quoted(range)} is not a range, and is ignored`);
}

/** Python's ranges have commas between their parts, those of npm have spaces. */
export function toNpmRange(range: string): string {
  return range.replace(/\s*,\s*/g, " ").replaceAll("==", "=");
}

function checkUrls(value: ManifestValue, check: Check): void {
  const { homepage, documentation, support, privacyPolicies = [], repository, author } = value;
  const urls: [Path, string | undefined][] = [
    [["homepage"], homepage],
    [["documentation"], documentation],
    [["support"], support],
    [["author", "url"], author?.url],
    [["repository", "url"], repository?.url],
    ...privacyPolicies.map((url, index): [Path, string] => [["privacy_policies", index], url]),
  ];
  for (const [path, url] of urls)
    if (url !== undefined && parseUrl(url) === undefined)
      error(check, path, `${quoted(url)} is not a URL`, "Write a URL, such as https://example.com/.");
}

/** Returns true for a relative path that stays inside of its folder. */
function isInside(path: string): boolean {
  return !/^([/\\~]|[A-Za-z]:)/.test(path) && !/(^|[/\\])\.\.([/\\]|$)/.test(path);
}

function checkServer({ server, manifestVersion, dxtVersion }: ManifestValue, check: Check): void {
  if (server === undefined) return;
  const { type, entryPoint, mcpConfig } = server;
  const path = ["server", "entry_point"];
  const relative = entryPoint.replace(/^\$\{__dirname\}(\$\{\/\}|[/\\])/, "");
  if (!isInside(relative) || relative.includes("${"))
    error(
      check,
      path,
      `${quoted(entryPoint)} is not a path inside of the bundle`,
      "Write a path from the top of the bundle, such as server/index.js.",
    );
  const format = manifestVersion ?? dxtVersion;
  if (type === "uv" && format !== undefined && format < "0.4")
    warn(check, ["server", "type"], `uv belongs to manifest_version 0.4, but this manifest has ${format}`);
  if (mcpConfig === undefined && type !== "uv")
    error(
      check,
      ["server"],
      "has no mcp_config",
      'Write "mcp_config": { "command": "node", "args": ["${__dirname}/server/index.js"] }.',
    );
  const { platformOverrides = {} } = mcpConfig ?? {};
  const commands: [Path, string | undefined][] = [
    [["server", "mcp_config", "command"], mcpConfig?.command],
    ...Object.entries(platformOverrides).map(([system, { command }]): [Path, string | undefined] => [
      ["server", "mcp_config", "platform_overrides", system, "command"],
      command,
    ]),
  ];
  for (const [at, command] of commands) {
    if (command === undefined) continue;
    const inner = command.replace(/^\$\{__dirname\}/, ".");
    if (/(^|[/\\])\.\.([/\\]|$)/.test(inner))
      error(check, at, `${quoted(command)} is outside of the bundle`, "Write a path inside of the bundle.");
    else if (!isInside(inner))
      warn(check, at, `${quoted(command)} is a program of the machine, not of the bundle`);
  }
}

function checkSettings({ userConfig = {} }: ManifestValue, check: Check): void {
  const entries = Object.entries(userConfig);
  if (entries.length > MAX_SETTINGS)
    error(check, ["user_config"], `has ${entries.length} settings; at most ${MAX_SETTINGS} are allowed`);
  for (const [name, setting] of entries) {
    const path = ["user_config", name];
    if (!/^[A-Za-z0-9_.-]{1,100}$/.test(name))
      error(check, path, `${quoted(name)} cannot be the name of a setting`, "Use letters, digits, _ and -.");
    const { min, max, default: preset } = setting;
    if (min !== undefined && max !== undefined && min > max)
      error(check, [...path, "min"], `is ${min}, but max is ${max}`);
    const problem = preset === undefined ? undefined : problemOf(preset, setting);
    if (problem !== undefined) warn(check, [...path, "default"], `${problem}, and is ignored`);
  }
}

export type McpbValue = string | number | boolean | readonly string[];

/** Why a value does not fit its setting, or undefined. */
export function problemOf(value: McpbValue, { type, multiple, min, max }: McpbSetting): string | undefined {
  if (Array.isArray(value)) {
    if (multiple !== true) return "is a list, but the setting has one value";
    return type === "number" || type === "boolean" ? `is a list, not a ${type}` : undefined;
  }
  const expected = type === "number" || type === "boolean" ? type : "string";
  if (typeof value !== expected) return `must be a ${expected}`;
  if (typeof value !== "number") return undefined;
  if (!Number.isFinite(value)) return "is not a number";
  if (min !== undefined && value < min) return `is ${value}, but the smallest value is ${min}`;
  return max !== undefined && value > max ? `is ${value}, but the largest value is ${max}` : undefined;
}

/** An unknown placeholder stays in the text, as it does in other clients. */
function checkPlaceholders({ server, userConfig = {} }: ManifestValue, check: Check): void {
  const path = ["server", "mcp_config"];
  const { command, args = [], env = {}, platformOverrides = {} } = server?.mcpConfig ?? {};
  const report = (at: Path, text: string): void => {
    for (const { name, isKnown, setting } of placeholdersIn(text)) {
      if (setting !== undefined && !Object.hasOwn(userConfig, setting))
        warn(check, at, `uses the setting ${quoted(setting)}, which user_config does not have`);
      else if (!isKnown) warn(check, at, `has the unknown placeholder ${quoted(`\${${name}}`)}`);
    }
  };
  const reportAll = (at: Path, config: (typeof platformOverrides)[string]): void => {
    if (config.command !== undefined) report([...at, "command"], config.command);
    for (const [index, word] of (config.args ?? []).entries()) report([...at, "args", index], word);
    for (const [name, text] of Object.entries(config.env ?? {})) report([...at, "env", name], text);
  };
  reportAll(path, { command, args, env });
  for (const [system, config] of Object.entries(platformOverrides))
    reportAll([...path, "platform_overrides", system], config);
}
