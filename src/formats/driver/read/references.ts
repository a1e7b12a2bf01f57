// References in a driver: secrets reach a server through its environment, its arguments, its headers or the path and query of its address.

import { findReferences, type TextPlace } from "../../../model/index.ts";
import {
  type ObjectNode,
  type Place,
  type Diagnostics,
  quoted,
  type TextNode,
  toLabel,
} from "../../document/index.ts";
import { placeOf } from "../schema/shared-fields.ts";

const SECRET = /^secrets\.[A-Za-z_][A-Za-z0-9_]*$/;

/** The insides of each `${...}` in a text: exactly those that count when the server is started. */
function referencesIn(text: string): string[] {
  return findReferences(text).map(({ start, end, closed }) =>
    closed ? text.slice(start + 2, end - 1) : `${text.slice(start + 2)} `,
  );
}

/** In `env`, `headers`, `args`, `auth` and `url`: only `${secrets.NAME}`. A stranger's driver must not ask for files or other variables. */
export function checkSecretValues(node: TextNode, diagnostics: Diagnostics): void {
  if (node.kind === "object") for (const { value } of node.entries) checkSecretValues(value, diagnostics);
  if (node.kind === "list") for (const item of node.items) checkSecretValues(item, diagnostics);
  if (node.kind !== "string") return;
  const wrong = referencesIn(String(node.value)).find((inside) => !SECRET.test(inside));
  if (wrong === undefined) return;
  const name = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)$/.exec(wrong)?.[1];
  diagnostics.add(
    node,
    `${toLabel(node.path)} contains the reference ${quoted(`\${${wrong.trim()}}`)}, which is not allowed in a driver`,
    name === undefined
      ? "Write ${secrets.NAME}, or $${ for the characters themselves."
      : `Write \${secrets.${name}}, and an entry for it in SECRETS.md.`,
  );
}

/** Command lines are visible to other users of a machine, environments are not. */
export function noteSecretArguments(args: TextNode | undefined, diagnostics: Diagnostics): void {
  for (const item of args?.kind === "list" ? args.items : [])
    if (item.kind === "string" && isSecret(String(item.value)))
      diagnostics.add(
        item,
        `${toLabel(item.path)} is a secret: other users of the machine can read the arguments of a process`,
        "If the server can read it from its environment, write it under server.env.",
        "info",
      );
}

/** In the other texts of a server there is no reference at all. */
export function checkNoReference(node: TextNode | undefined, diagnostics: Diagnostics): void {
  if (node === undefined) return;
  if (node.kind === "list") for (const item of node.items) checkNoReference(item, diagnostics);
  if (node.kind !== "string" || isSecret(String(node.value))) return;
  const [inside] = referencesIn(String(node.value));
  if (inside === undefined) return;
  diagnostics.add(
    node,
    `${toLabel(node.path)} contains the reference ${quoted(`\${${inside.trim()}}`)}; references are allowed only in env, headers, args, auth, and the path and query of url`,
    "Write the value itself, or $${ for the characters themselves.",
  );
}

/** Everywhere but in `skip`, `${secrets.…}` would be a secret in a place where it is seen, or no secret at all. */
export function checkNoSecrets(
  root: ObjectNode,
  skip: ReadonlySet<TextNode>,
  diagnostics: Diagnostics,
): void {
  const todo: TextNode[] = [root];
  for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
    if (skip.has(node)) continue;
    if (node.kind === "list") todo.push(...node.items);
    else if (node.kind === "object") for (const { value } of node.entries) todo.push(value);
    else if (node.kind === "string" && isSecret(String(node.value))) refuse(node, diagnostics);
  }
}

/** Where each secret of a server block is referred to, as `secret:<NAME>`. */
export function placesOfSecrets(server: TextNode | undefined): Record<string, TextPlace> {
  const places: Record<string, TextPlace> = {};
  const todo: TextNode[] = server === undefined ? [] : [server];
  for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
    if (node.kind === "list") todo.push(...node.items);
    else if (node.kind === "object") for (const { value } of node.entries) todo.push(value);
    else if (node.kind === "string")
      for (const inside of referencesIn(String(node.value)))
        if (SECRET.test(inside)) places[`secret:${inside.slice("secrets.".length)}`] ??= placeOf(node);
  }
  return places;
}

function isSecret(text: string): boolean {
  return referencesIn(text).some((inside) => /^secrets?\b/.test(inside));
}

function refuse(place: Place, diagnostics: Diagnostics): void {
  diagnostics.add(
    place,
    `${toLabel(place.path)} contains a reference to a secret, which is not allowed there`,
    "Secrets reach a server through server.env or server.args, those of a remote server through server.auth, server.headers or server.url.",
  );
}
