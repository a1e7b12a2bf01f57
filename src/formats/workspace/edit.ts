// Adds and removes servers in the text of portolan.yaml; everything else in it stays as it was written.

import { isDeepStrictEqual } from "node:util";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { TextDocument } from "../document/edit/text-document.ts";
import { YAML_SYNTAX } from "../document/edit/yaml-edit.ts";
import { isObject } from "../../model/index.ts";
import { entryOf, nodeAt, readYaml, type TextNode, toPlain } from "../document/index.ts";
import { aliasProblem, type ServerFields } from "../manifest/index.ts";
import { parseWorkspace } from "./read.ts";

/** The text with one more server. Without a text, that of a new file. */
export function addServer(text: string | undefined, alias: string, fields: ServerFields): string {
  const bad = aliasProblem(alias);
  if (bad !== undefined) throw new PortolanError("CONFIG_INVALID", bad.message, { hint: bad.hint });
  const root = readForEdit(text ?? "");
  const there = entryOf(nodeAt(root, "servers"), alias);
  if (there !== undefined) {
    throw new PortolanError("CONFIG_INVALID", `there is already a server ${alias}, at line ${there.line}`, {
      hint: `Choose another alias, or remove the present server first: portolan remove ${alias}.`,
    });
  }
  const document = new TextDocument(YAML_SYNTAX, text ?? "");
  // Through JSON, which leaves out undefined fields.
  const server: unknown = JSON.parse(JSON.stringify(fields));
  const after = toText(
    root?.kind === "object"
      ? document.set(["servers", alias], server)
      : document.set([], { version: 1, servers: { [alias]: server } }),
  );
  const diagnostics = parseWorkspace(after, "portolan.yaml").diagnostics.filter(
    (diagnostic) => diagnostic.server === alias && diagnostic.severity === "error",
  );
  if (diagnostics.length > 0) throw toError(`the server ${alias} would not be valid`, diagnostics);
  return after;
}

/** The text without that server. */
export function removeServer(text: string, alias: string): string {
  if (entryOf(nodeAt(readForEdit(text), "servers"), alias) === undefined)
    throw new PortolanError("SERVER_UNKNOWN", `portolan.yaml declares no server ${alias}`);
  return toText(new TextDocument(YAML_SYNTAX, text).delete(["servers", alias]));
}

/** The text with some fields of a server replaced. A field that is undefined is removed; everything else stays. */
export function changeServer(text: string, alias: string, fields: ServerFields): string {
  const server = entryOf(nodeAt(readForEdit(text), "servers"), alias);
  if (server === undefined)
    throw new PortolanError("SERVER_UNKNOWN", `portolan.yaml declares no server ${alias}`);
  const before = toPlain(server.value);
  const own = isObject(before) ? before : {};
  let document: TextDocument | undefined = new TextDocument(YAML_SYNTAX, text);
  for (const [name, value] of Object.entries(fields)) {
    const path = ["servers", alias, name];
    if (isDeepStrictEqual(own[name], value)) continue;
    document = value === undefined ? document?.delete(path) : document?.set(path, value);
  }
  return toText(document);
}

function toText(edited: TextDocument | undefined): string {
  if (edited !== undefined) return edited.render();
  throw new PortolanError(
    "FILE_INVALID",
    "Portolan cannot edit portolan.yaml: the edit would change other values, too. Nothing was written",
    {
      hint: "Edit the file by hand. Check whether another part of the file uses an anchor (&name) of this server, or whether servers itself is an alias (*name).",
    },
  );
}

function readForEdit(text: string): TextNode | undefined {
  const { root, diagnostics } = readYaml(text, "portolan.yaml");
  if (diagnostics.length > 0) throw toError("portolan.yaml is not valid", diagnostics);
  const servers = nodeAt(root, "servers");
  const usable = (node: TextNode | undefined): boolean =>
    node === undefined || node.kind === "null" || node.kind === "object";
  if (!usable(root) || !usable(servers))
    throw new PortolanError(
      "FILE_INVALID",
      `portolan.yaml is not valid: ${usable(root) ? "servers" : "the file"} must be an object with keys`,
    );
  return root;
}

function toError(what: string, diagnostics: readonly Diagnostic[]): PortolanError {
  const [first] = diagnostics;
  const where = first?.line === undefined ? "" : ` (line ${first.line})`;
  return new PortolanError("FILE_INVALID", `${what}: ${first?.message ?? ""}${where}`, {
    hint: first?.hint,
    data: { diagnostics },
  });
}
