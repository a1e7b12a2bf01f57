// Reads an `http` invocation. The host is fixed here; arguments of a call only fill the path, the query, headers and the body.

import type { HttpInvocation, Template } from "../../../model/index.ts";
import { type Entry, entryOf, nodeAt, type ObjectNode, quoted, type TextNode } from "../../document/index.ts";
import { optionalTemplate } from "./cli.ts";
import { type Context, hint } from "./context.ts";
import type { Scope } from "./scope.ts";
import { BODY_METHODS, type HttpValue } from "../schema/invocation-schema.ts";
import { type Piece, readPieces, toPart, toTemplate } from "./template.ts";
import { readIgnored } from "./unused.ts";

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Headers that the HTTP client sets itself. */
const REFUSED = new Set(
  "host content-length transfer-encoding connection keep-alive proxy-connection te trailer upgrade expect".split(
    " ",
  ),
);

export function readHttp(node: ObjectNode, scope: Scope, context: Context): HttpInvocation | undefined {
  const { diagnostics } = context;
  const checked = context.format.http.read(node, context) ?? {};
  const url = readUrl(nodeAt(node, "url"), scope, context);
  const headers = readHeaders(nodeAt(node, "headers"), scope, context);
  checkQuery(nodeAt(node, "query"), scope, context);
  const bodyRoot = readBodyRoot(nodeAt(node, "bodyRoot"), scope, context);
  checkBody(node, checked, context);
  const ignored = readIgnored(node, scope, context);
  const { method } = checked;
  if (diagnostics.hasErrorIn(node) || method === undefined || url === undefined) return undefined;
  return {
    kind: "http",
    method,
    url,
    headers,
    rest: checked.body ?? (BODY_METHODS.has(method) ? "json" : "query"),
    query: checked.query ?? [],
    bodyRoot,
    bodyAsArray: checked.bodyAsArray === true,
    ignored,
    allowPrivate: checked.allowPrivate === true ? true : undefined,
    timeoutMs: checked.timeoutMs,
    maxResponseBytes: checked.maxResponseBytes,
  };
}

function readUrl(node: TextNode | undefined, scope: Scope, context: Context): Template | undefined {
  if (node?.kind !== "string") return undefined;
  const pieces = readPieces(node, context);
  if (pieces === undefined) return undefined;
  const problem = urlProblem(pieces, context.version !== "0.0.1");
  if (problem !== undefined) context.diagnostics.add(node, problem.message, problem.hint);
  return toTemplate(pieces, (placeholder) => toPart(placeholder, node, scope, context));
}

function urlProblem(
  pieces: readonly Piece[],
  hasVariables: boolean,
): { readonly message: string; readonly hint: string } | undefined {
  const [env, value] = ["\u0001", "\u0002"];
  if (pieces.some((piece) => piece.kind === "text" && /[\0-\x20\x7f]/.test(piece.text)))
    return { message: "the url contains white space", hint: "Write %20 for a space." };
  const url = pieces.map((piece) => (piece.kind === "text" ? piece.text : piece.env ? env : value)).join("");
  // A variable at the start may hold the whole beginning of the address; it is looked at when its value is known.
  const place = /^(?:https?:\/\/|\u0001(?::\/\/)?)([^/?#]*)/i.exec(url);
  if (place?.[1]?.includes(value) === true || url.startsWith(value))
    return {
      message: "the scheme, host and port of the url cannot contain a value of the call",
      hint: `The caller of the tool must not choose the host of the request. Write the host${hasVariables ? ", or ${NAME} for a secret or an environment variable" : ""}.`,
    };
  if (place === null)
    return {
      message: "the url must start with http:// or https://",
      hint: `For example https://example.com/users/{id}.${hasVariables ? " It may also begin with ${NAME}, a secret or an environment variable that has the beginning of the URL." : ""}`,
    };
  const filled = url
    .replace(/^\u0001(?!:\/\/)/, "http://a")
    .replace(/^\u0001/, "http")
    .replaceAll(/[\u0001\u0002]/g, "1");
  if (URL.canParse(filled)) return undefined;
  return { message: "the url is not a URL", hint: "For example https://example.com/users/{id}." };
}

function readHeaders(node: TextNode | undefined, scope: Scope, context: Context): HttpInvocation["headers"] {
  if (node?.kind !== "object") return [];
  const seen = new Map<string, Entry>();
  return node.entries.flatMap((entry) => {
    const lower = entry.key.toLowerCase();
    const first = seen.get(lower);
    seen.set(lower, entry);
    if (!HEADER_NAME.test(entry.key))
      context.diagnostics.add(entry, `${quoted(entry.key)} is not the name of a header`);
    else if (REFUSED.has(lower))
      context.diagnostics.add(
        entry,
        `the header ${entry.key} cannot be set`,
        "Portolan sets this header itself.",
      );
    else if (first !== undefined)
      context.diagnostics.add(
        entry,
        `the header ${entry.key} is declared twice: first at line ${first.line}`,
        "Keep one.",
      );
    const value = optionalTemplate(entry.value, scope, context);
    if (value?.some((part) => part.kind === "text" && /[\0-\x08\x0a-\x1f\x7f]/.test(part.text)) === true)
      context.diagnostics.add(
        entry.value,
        `the header ${entry.key} contains a line break or another control character`,
      );
    return value === undefined ? [] : [{ name: entry.key, value }];
  });
}

function checkQuery(node: TextNode | undefined, scope: Scope, { diagnostics }: Context): void {
  if (node?.kind !== "list") return;
  for (const item of node.items) {
    if (item.kind !== "string" || scope.find(String(item.value))?.length === 1) continue;
    const name = String(item.value);
    const help = hint(diagnostics, () => scope.hintFor(name));
    diagnostics.add(item, `${quoted(name)} is not ${scope.what}`, help);
  }
}

/** `a.b[0]` as steps. */
function readBodyRoot(
  node: TextNode | undefined,
  scope: Scope,
  context: Context,
): readonly (string | number)[] | undefined {
  if (node?.kind !== "string") return undefined;
  const text = String(node.value);
  const { diagnostics } = context;
  if (!/^[^.[\]]+(?:\[\d{1,6}\])*(?:\.[^.[\]]+(?:\[\d{1,6}\])*)*$/.test(text)) {
    diagnostics.add(
      node,
      `bodyRoot ${quoted(text)} is not a path`,
      "Write for example data, data.items or data.items[0].",
    );
    return undefined;
  }
  const names = text.split("[", 1)[0] ?? "";
  if (scope.find(names) === undefined)
    diagnostics.add(
      node,
      `${quoted(names)} is not ${scope.what}`,
      hint(diagnostics, () => scope.hintFor(names)),
    );
  return [...text.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([step, index]) =>
    index === undefined ? step : Number(index),
  );
}

function checkBody(node: ObjectNode, checked: HttpValue, { diagnostics }: Context): void {
  const place = (key: string): Entry | ObjectNode => entryOf(node, key) ?? node;
  const { method, body, bodyRoot, bodyAsArray } = checked;
  if (method === undefined) return;
  if (bodyRoot !== undefined && bodyAsArray === true)
    diagnostics.add(place("bodyAsArray"), "bodyRoot and bodyAsArray exclude each other", "Keep one of them.");
  if (body !== undefined && (method === "GET" || method === "HEAD"))
    diagnostics.add(
      place("body"),
      `a ${method} request has no body`,
      "Leave body out, or use another method.",
    );
  const json = body === undefined ? BODY_METHODS.has(method) : body === "json";
  const shaped = bodyRoot !== undefined ? "bodyRoot" : bodyAsArray === true ? "bodyAsArray" : undefined;
  if (shaped !== undefined && !json)
    diagnostics.add(
      place(shaped),
      `${shaped} needs a JSON body, which this ${method} request does not have`,
      method === "GET" || method === "HEAD" ? "Use POST, PUT or PATCH." : "Write body: json.",
    );
}
