// Reads a server.json: text in, document and diagnostics out.

import { isSecureUrl, parseUrl } from "../../base/net/urls.ts";
import type { Diagnostic } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { Diagnostics, entryOf, nodeAt, quoted, readJson, type TextNode, toLabel } from "../document/index.ts";
import { folderOf } from "../manifest/index.ts";
import { SERVER_JSON, type ServerJsonValue } from "./schema.ts";
import { GAP } from "./settings.ts";

/** A server.json without errors. */
export type ServerJsonDocument = ServerJsonValue &
  Required<Pick<ServerJsonValue, "name" | "version" | "description">>;

export interface ServerJsonResult {
  /** The fields without errors. */
  readonly draft: ServerJsonValue;
  /** Absent if the document has errors. */
  readonly document?: ServerJsonDocument;
  readonly diagnostics: readonly Diagnostic[];
}

const MAX_DESCRIPTION = 100;

/** An entry of the registry's API, `{ server, _meta }`, is read as well. */
export function parseServerJson(content: string, file: string): ServerJsonResult {
  const { root, diagnostics: syntax } = readJson(content, file);
  if (root === undefined) return { draft: {}, diagnostics: syntax };
  const diagnostics = new Diagnostics(file, syntax);
  const inner = entryOf(root, "name") === undefined ? entryOf(root, "server")?.value : undefined;
  const node = inner ?? root;
  const draft = SERVER_JSON.read(node, { diagnostics, folder: folderOf(file) }) ?? {};
  check(draft, node, diagnostics);
  const isWhole = !diagnostics.hasErrorIn(root);
  return {
    draft,
    document: isWhole ? (draft as ServerJsonDocument) : undefined,
    diagnostics: diagnostics.sorted(),
  };
}

type Path = readonly (string | number)[];

function check(
  { description, version, packages = [], remotes = [] }: ServerJsonValue,
  root: TextNode,
  diagnostics: Diagnostics,
): void {
  const place = (path: Path): TextNode => nodeAt(root, ...path) ?? root;
  const error = (path: Path, message: string, hint?: string): void =>
    diagnostics.add(place(path), `${toLabel(path)} ${message}`.trimStart(), hint);
  const warn = (path: Path, message: string, hint?: string): void =>
    diagnostics.warn(place(path), `${toLabel(path)} ${message}`.trimStart(), hint);

  if (
    nodeAt(root, "version_detail") !== undefined ||
    nodeAt(root, "packages", 0, "registry_type") !== undefined
  )
    error(
      [],
      "the document has the schema before September 2025, which is not supported",
      "Use the current schema.",
    );
  if (description !== undefined && Array.from(description).length > MAX_DESCRIPTION)
    warn(["description"], `is longer than ${MAX_DESCRIPTION} characters`);
  if (version !== undefined && isRange(version))
    error(["version"], `${quoted(version)} is a range, not a version`, "Write one version: 1.2.3.");
  for (const [
    index,
    { version: one, registryType, identifier, fileSha256, transport },
  ] of packages.entries()) {
    const path = ["packages", index];
    if (one !== undefined && isRange(one))
      error([...path, "version"], `${quoted(one)} is not an exact version`, "Write one version: 1.2.3.");
    if (registryType === "mcpb" && fileSha256 === undefined)
      warn(path, "is a bundle without fileSha256, so its content cannot be verified");
    const url = parseUrl(identifier);
    if (registryType === "mcpb" && (url === undefined || !isSecureUrl(url)))
      error(
        [...path, "identifier"],
        `${quoted(identifier)} is not an https URL`,
        "Write the URL of the bundle.",
      );
    if (transport.type !== "stdio" && transport.url === undefined)
      error([...path, "transport"], `${transport.type} needs a url`);
  }
  const inputs = [
    ...packages.flatMap(({ environmentVariables = [], transport: { headers = [] } }, index) => [
      ...environmentVariables.map((input, at) => ({
        input,
        path: ["packages", index, "environmentVariables", at],
      })),
      ...headers.map((input, at) => ({ input, path: ["packages", index, "transport", "headers", at] })),
    ]),
    ...remotes.flatMap(({ headers = [] }, index) =>
      headers.map((input, at) => ({ input, path: ["remotes", index, "headers", at] })),
    ),
  ];
  for (const { input, path } of inputs)
    for (const [whole, name = ""] of (input.value ?? "").matchAll(GAP))
      if (!Object.hasOwn(input.variables ?? {}, name))
        warn([...path, "value"], `has ${whole}, which variables does not define, so it is not replaced`);
  for (const [index, { url }] of remotes.entries())
    if (!/^https?:\/\/|^\{/i.test(url)) error(["remotes", index, "url"], `${quoted(url)} is not an http URL`);
  if (packages.length === 0 && remotes.length === 0 && !diagnostics.hasErrorIn(root))
    warn([], "the document names neither packages nor remotes");
}

function isRange(version: string): boolean {
  return version === "latest" || /^[\^~<>=*]|\s|\|\||(^|\.)[x*](\.|$)/i.test(version);
}

/** Recognizes a server.json, or an entry of the registry's API, among other JSON documents. */
export function looksLikeServerJson(value: unknown): boolean {
  if (!isObject(value)) return false;
  const inner = isObject(value.server) && value.name === undefined ? value.server : value;
  return (
    typeof inner.name === "string" &&
    inner.name.includes("/") &&
    (typeof inner.$schema === "string"
      ? inner.$schema.includes("server.schema.json")
      : Array.isArray(inner.packages) || Array.isArray(inner.remotes))
  );
}
