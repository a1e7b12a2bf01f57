// Adds and removes servers in the text of portolan.yaml; everything else in it stays as it was written.

import { isDeepStrictEqual } from "node:util";
import { Document, isMap, isScalar, isSeq, type Node, parseDocument, visit } from "yaml";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { entryOf, nodeAt, readYaml, type TextNode, toPlain } from "../document/index.ts";
import { aliasProblem, type ServerFields } from "../manifest/index.ts";
import { cutServer, insertServer } from "./edit-lines.ts";
import { parseWorkspace } from "./read.ts";

/** The text with one more server. Without a text, that of a new file. */
export function addServer(text: string | undefined, alias: string, fields: ServerFields): string {
  const bad = aliasProblem(alias);
  if (bad !== undefined) throw new PortolanError("CONFIG_INVALID", bad.message, { hint: bad.hint });
  const before = text ?? "";
  const root = readForEdit(before);
  const there = entryOf(nodeAt(root, "servers"), alias);
  if (there !== undefined) {
    throw new PortolanError("CONFIG_INVALID", `there is already a server ${alias}, at line ${there.line}`, {
      hint: `Choose another alias, or remove it first: portolan remove ${alias}.`,
    });
  }
  const given = definedOnly(fields);
  const wanted = withServers(root, (servers) => ({ ...servers, [alias]: given }));
  const after = settle(
    () => insertServer(before, root, alias, renderServer(given)),
    before,
    (document) => document.setIn(["servers", alias], document.createNode(given)),
    wanted,
  );
  const diagnostics = parseWorkspace(after, "portolan.yaml").diagnostics.filter(
    ({ server, severity }) => server === alias && severity === "error",
  );
  if (diagnostics.length > 0) throw toError(`the server ${alias} would not be valid`, diagnostics);
  return after;
}

/** The text without that server. */
export function removeServer(text: string, alias: string): string {
  const root = readForEdit(text);
  if (entryOf(nodeAt(root, "servers"), alias) === undefined)
    throw new PortolanError("SERVER_UNKNOWN", `portolan.yaml declares no server ${alias}`);
  const wanted = withServers(root, (servers) =>
    Object.fromEntries(Object.entries(servers).filter(([key]) => key !== alias)),
  );
  return settle(
    () => cutServer(text, alias),
    text,
    (document) => document.deleteIn(["servers", alias]),
    wanted,
  );
}

/** The text with some fields of a server replaced. A field that is undefined is removed; comments of the others stay. */
export function changeServer(text: string, alias: string, fields: ServerFields): string {
  const root = readForEdit(text);
  if (entryOf(nodeAt(root, "servers"), alias) === undefined)
    throw new PortolanError("SERVER_UNKNOWN", `portolan.yaml declares no server ${alias}`);
  const names = Object.keys(fields) as (keyof ServerFields)[];
  const given = definedOnly(fields);
  const wanted = withServers(root, (servers) => {
    const before = isObject(servers[alias]) ? servers[alias] : {};
    const kept = Object.entries(before).filter(([key]) => !names.some((name) => name === key));
    return { ...servers, [alias]: { ...Object.fromEntries(kept), ...given } };
  });
  if (reads(text, wanted)) return text;
  return settle(
    () => undefined,
    text,
    (document) => {
      for (const name of names)
        if (given[name] === undefined) document.deleteIn(["servers", alias, name]);
        else document.setIn(["servers", alias, name], toFlowLists(document.createNode(given[name])));
    },
    wanted,
  );
}

/** Short lists stand on one line, as in servers that were added. */
function toFlowLists(node: Node): Node {
  visit(node, {
    Seq: (_, list) => {
      if (list.items.every((item) => isScalar(item))) list.flow = true;
    },
  });
  return node;
}

/** By lines when that gives the wanted value, so that not a byte changes elsewhere; else through YAML's own document. */
function settle(
  byLines: () => string | undefined,
  text: string,
  edit: (document: Document) => void,
  wanted: unknown,
): string {
  const spliced = byLines();
  if (spliced !== undefined && reads(spliced, wanted)) return spliced;
  const document = parseDocument(text, { schema: "core", merge: false, uniqueKeys: false });
  edit(document);
  let written: string | undefined;
  try {
    written = document.toString({ lineWidth: 0 });
  } catch {
    // An alias whose anchor is gone cannot be written; told below.
  }
  if (written !== undefined && reads(written, wanted)) return written;
  throw new PortolanError("FILE_INVALID", "portolan.yaml cannot be changed without changing more of it", {
    hint: "Edit the file by hand; perhaps another part of it uses an anchor of this server.",
  });
}

function reads(text: string, wanted: unknown): boolean {
  const { root, diagnostics } = readYaml(text, "portolan.yaml");
  if (root === undefined || diagnostics.length > 0) return false;
  return isDeepStrictEqual(normal(toPlain(root)), normal(wanted));
}

/** No servers and no version are the same as an empty list of servers and version 1. */
function normal(value: unknown): unknown {
  const file = isObject(value) ? value : {};
  return { version: 1, ...file, servers: file.servers ?? {} };
}

function withServers(
  root: TextNode | undefined,
  change: (servers: Record<string, unknown>) => Record<string, unknown>,
): unknown {
  const file = root === undefined ? {} : toPlain(root);
  const servers = isObject(file) && isObject(file.servers) ? file.servers : {};
  return { ...(isObject(file) ? file : {}), servers: change(servers) };
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
      "portolan.yaml is not valid: servers must be an object with keys",
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

/** Through JSON, which leaves out what is undefined. */
function definedOnly(fields: ServerFields): Record<string, unknown> {
  return JSON.parse(JSON.stringify(fields)) as Record<string, unknown>;
}

/** The lines of one server without indentation: short lists on one line, no folded text. */
function renderServer(fields: Readonly<Record<string, unknown>>): string[] {
  const document = new Document(fields, { schema: "core" });
  visit(document, {
    Seq: (_, list) => {
      if (list.items.every((item) => isScalar(item))) list.flow = true;
    },
    // White space at an end, and line breaks, need quotes, so that each field stays on one line.
    Scalar: (_, scalar) => {
      if (typeof scalar.value === "string" && /^\s|\s$|[\n\r]/.test(scalar.value))
        scalar.type = "QUOTE_DOUBLE";
    },
  });
  if (isEmpty(document.contents)) return [];
  return document.toString({ lineWidth: 0, flowCollectionPadding: false }).replace(/\n$/, "").split("\n");
}

function isEmpty(node: Node | null): boolean {
  return node === null || ((isMap(node) || isSeq(node)) && node.items.length === 0);
}
