// The server block of a driver: which of the four it is, and whether its parts fit each other and the transport.

import { isHttpUrl, isSecureUrl, parseUrl } from "../../base/net/urls.ts";
import { didYouMean } from "../../errors/index.ts";
import type { DriverServer } from "../../model/index.ts";
import { definedOnly } from "../manifest/index.ts";
import {
  checkShape,
  entryOf,
  nodeAt,
  type ObjectNode,
  type Diagnostics,
  quoted,
  type TextNode,
} from "../document/index.ts";
import { checkNoReference, checkNoSecrets, checkSecretValues, noteSecretArguments } from "./references.ts";
import { type CheckedServer, SERVER_SHAPES } from "./server-shape.ts";
import { noteSlips } from "./strict-keys.ts";

const TRANSPORTS: Readonly<Record<DriverServer["kind"], readonly string[]>> = {
  binary: ["stdio"],
  npm: ["stdio"],
  docker: ["stdio", "http"],
  remote: ["sse", "http"],
};
/** Variables that the docker command reads for itself before it hands them on. */
const OF_DOCKER = /^(?:DOCKER_.*|LD_.*|DYLD_.*|PATH|HOME|XDG_.*|GODEBUG|SSL_CERT_.*)$/i;
const HEADER = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Nothing when it is wrong; the reasons are among the diagnostics. */
export function readServer(node: TextNode, diagnostics: Diagnostics): DriverServer | undefined {
  if (node.kind !== "object") {
    diagnostics.add(
      node,
      "server must be an object with keys",
      "Write kind: npm and package: <name>, for example.",
    );
    return undefined;
  }
  const shape = shapeOf(node, diagnostics);
  if (shape === undefined) return undefined;
  const checked = checkShape(shape, node, diagnostics) as CheckedServer;
  noteSlips(node, Object.keys(shape.fields), diagnostics);
  for (const name of ["path", "package", "image"]) checkNoReference(nodeAt(node, name), diagnostics);
  const open = ["env", "headers", "args", "url"].flatMap((name) => nodeAt(node, name) ?? []);
  for (const part of open) checkSecretValues(part, diagnostics);
  noteSecretArguments(nodeAt(node, "args"), diagnostics);
  checkNoSecrets(node, new Set(open), diagnostics);
  checkNames(node, diagnostics);
  checkWords(checked, node, diagnostics);
  if (checked.kind === "remote") checkRemote(checked, node, diagnostics);
  return diagnostics.hasErrorIn(node) ? undefined : toServer(checked);
}

/** `transport` and the kind of the server, which no schema compares. */
export function checkTransport(
  server: DriverServer["kind"] | undefined,
  transport: string | undefined,
  place: TextNode | undefined,
  diagnostics: Diagnostics,
): void {
  if (server === undefined || transport === undefined || place === undefined) return;
  const fitting = TRANSPORTS[server];
  if (fitting.includes(transport)) return;
  diagnostics.add(
    place,
    `transport ${transport} does not fit a server of kind ${server}`,
    `Write transport: ${fitting.join(" or ")}.`,
  );
}

function shapeOf(node: ObjectNode, diagnostics: Diagnostics): (typeof SERVER_SHAPES)[string] | undefined {
  const kind = nodeAt(node, "kind");
  const kinds = Object.keys(SERVER_SHAPES);
  const written = textOf(kind);
  if (written !== undefined && Object.hasOwn(SERVER_SHAPES, written)) return SERVER_SHAPES[written];
  if (written === undefined)
    diagnostics.add(kind ?? node, "server has no kind", `Write kind: ${kinds.join(", or ")}.`);
  else
    diagnostics.add(
      kind ?? node,
      `there is no server of kind ${quoted(written)}`,
      didYouMean(written, kinds) ?? `Write one of ${kinds.join(", ")}.`,
    );
  return undefined;
}

function textOf(node: TextNode | undefined): string | undefined {
  return node?.kind === "string" ? String(node.value) : undefined;
}

function checkNames(node: ObjectNode, diagnostics: Diagnostics): void {
  const [env, docker] = [nodeAt(node, "env"), textOf(nodeAt(node, "kind")) === "docker"];
  for (const entry of env?.kind === "object" ? env.entries : [])
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(entry.key))
      diagnostics.add(
        entry,
        `${quoted(entry.key)} is not the name of a variable`,
        "Use letters, digits and _.",
      );
    else if (docker && OF_DOCKER.test(entry.key))
      diagnostics.add(
        entry,
        `${entry.key} would change the docker command itself, outside of the container`,
        "Set it in the image, or call it by another name.",
      );
  const headers = nodeAt(node, "headers");
  for (const entry of headers?.kind === "object" ? headers.entries : [])
    if (!HEADER.test(entry.key))
      diagnostics.add(entry, `${quoted(entry.key)} cannot be the name of a header`);
    else if (entry.value.kind === "string" && /[\r\n]/.test(String(entry.value.value)))
      diagnostics.add(
        entry.value,
        `the header ${entry.key} holds a line break`,
        "Write its value on one line.",
      );
}

/** Words that a command line would take for an option are refused before it is made. */
function checkWords(checked: CheckedServer, node: ObjectNode, diagnostics: Diagnostics): void {
  for (const name of ["path", "package", "image"] as const) {
    const word = checked[name];
    const place = nodeAt(node, name);
    if (word === undefined || place === undefined || (name === "path" && checked.kind === "docker")) continue;
    if (word.startsWith("-"))
      diagnostics.add(place, `server.${name} begins with -`, "It would be read as an option.");
    else if (name !== "path" && /\s/.test(word))
      diagnostics.add(
        place,
        `server.${name} holds a space`,
        `Write only the ${name}; other words belong to args.`,
      );
  }
}

function checkRemote(checked: CheckedServer, node: ObjectNode, diagnostics: Diagnostics): void {
  const place = nodeAt(node, "url");
  const { url, auth } = checked;
  if (url !== undefined && place !== undefined) checkUrl(url, place, diagnostics);
  const block = nodeAt(node, "auth");
  if (auth?.type === undefined || block === undefined) return;
  if (auth.type !== "none" && entryOf(block, "env") === undefined)
    diagnostics.add(block, "env is missing in server.auth", "Write env: and the name of the secret.");
  if (auth.type === "header" && (auth.name === undefined || !HEADER.test(auth.name)))
    diagnostics.add(
      nodeAt(block, "name") ?? block,
      "server.auth has no header",
      "Write name: X-Api-Key, for example.",
    );
}

function checkUrl(written: string, place: TextNode, diagnostics: Diagnostics): void {
  if (/\$\{/.test(written.replace(/[?#].*$/s, ""))) {
    diagnostics.add(
      place,
      "server.url holds a reference outside of its query",
      "Write it after the ?, or use server.auth or server.headers.",
    );
    return;
  }
  const url = parseUrl(written);
  if (url === undefined || !isHttpUrl(url))
    diagnostics.add(place, "server.url is not a URL", "Write an address that begins with https://.");
  else if (url.username !== "" || url.password !== "")
    diagnostics.add(place, "server.url holds a name or a password", "Use server.auth or server.headers.");
  else if (!isSecureUrl(url))
    diagnostics.add(
      place,
      "server.url is not encrypted",
      "Write https://; http:// is only for this machine itself (localhost, 127.0.0.1).",
    );
}

function toServer(checked: CheckedServer): DriverServer | undefined {
  const { path = "", package: name = "", image = "", url = "", args = [], env = {} } = checked;
  switch (checked.kind) {
    case "binary":
      return { kind: "binary", path, args, env };
    case "npm":
      return { kind: "npm", package: name, args, env };
    case "docker":
      return definedOnly({
        kind: "docker" as const,
        image,
        port: checked.port,
        path: checked.path,
        args,
        env,
      });
    case "remote":
      return definedOnly({
        kind: "remote" as const,
        url,
        headers: checked.headers,
        auth: toAuth(checked.auth),
      });
    default:
      return undefined;
  }
}

function toAuth(auth: CheckedServer["auth"]): (DriverServer & { kind: "remote" })["auth"] {
  if (auth?.type === "bearer") return { type: "bearer", env: auth.env ?? "" };
  if (auth?.type === "header") return { type: "header", name: auth.name ?? "", env: auth.env ?? "" };
  return auth?.type === "none" ? { type: "none" } : undefined;
}
