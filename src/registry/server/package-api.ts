// The package API: search, packages, downloads and stars for everybody; publishing, status and advisories for owners.

import type { IncomingMessage, ServerResponse } from "node:http";
import { didYouMean, PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { advisoriesFor } from "../catalog/advisory.ts";
import { type IndexPackage, scopeOf } from "../catalog/types.ts";
import { availableVersions, requireVersion } from "../catalog/versions.ts";
import { fileName, parseFileName } from "../store/layout.ts";
import { MAX_DOCUMENT_BYTES, notOwned, type RegistryStore } from "../store/store.ts";
import type { TokenEntry } from "../store/tokens.ts";
import { sendJson } from "./reply.ts";
import { parseJson, readBody, refused, type RouteContext } from "./requests.ts";

export async function routePackages(
  context: RouteContext,
  request: IncomingMessage,
  response: ServerResponse,
  method: string,
  parts: readonly string[],
  url: URL,
): Promise<void> {
  const { store } = context;
  const [kind, ...rest] = parts;
  const key = `${method} ${kind}`;
  if (key === "GET search" && rest.length === 0) return search(store, request, response, url);
  if (kind === "advisories" && rest.length === 0) {
    if (method === "GET")
      return sendJson(request, response, { advisories: (await store.read()).index.advisories });
    if (method === "POST") return publishAdvisory(context, request, response);
  }
  if (key === "GET v1" && rest[0] === "advisories" && rest[1] === "mcp")
    return packageAdvisories(store, request, response, toName(rest.slice(2)));
  if (key === "GET stats") return stats(store, request, response, toName(rest));
  if (key === "PUT files" && rest.length === 1) return upload(context, request, response, rest[0] ?? "");
  if (kind !== "registry") throw refused(404, `There is nothing at ${url.pathname.slice(0, 200)}.`);
  const action = ["download", "deprecate", "unpublish", "star"].find(
    (one) => rest.length > 1 && rest.at(-1) === one,
  );
  const name = toName(action === undefined ? rest : rest.slice(0, -1));
  if (method === "GET" && action === undefined) return getPackage(store, request, response, name, url);
  if (method === "POST" && action === "download") return countDownload(store, request, response, name, url);
  if (method === "POST" && action === "star") return star(context, request, response, name);
  if (method === "POST" && action === undefined) return publish(context, request, response, name, url);
  if (method === "POST" && action !== undefined)
    return changeStatus(context, request, response, name, action);
  throw refused(405, `${method} is not supported at this path.`);
}

async function search(
  store: RegistryStore,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const started = performance.now();
  const number = (name: string, preset: number, most: number): number => {
    const text = url.searchParams.get(name);
    if (text === null) return preset;
    if (!/^\d{1,6}$/.test(text) || Number(text) > most)
      throw refused(400, `${name} must be a number up to ${most}.`);
    return Number(text);
  };
  const query = url.searchParams.get("q") ?? "";
  const options = { limit: Math.max(1, number("limit", 20, 100)), offset: number("offset", 0, 100_000) };
  const page = (await store.search()).search(query, options);
  const duration = (performance.now() - started).toFixed(3);
  sendJson(request, response, { query, ...page }, { headers: { "server-timing": `search;dur=${duration}` } });
}

/** The package as a whole, and the document of the version that `?version=` stands for. */
async function getPackage(
  store: RegistryStore,
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
  url: URL,
): Promise<void> {
  const { index } = await store.read();
  const found = requirePackage(index.packages, name);
  const wanted = url.searchParams.get("version") ?? undefined;
  const version = toNotFound(() => requireVersion(name, found, wanted));
  const entry = found.versions[version];
  const document = await store.readVersion(entry?.integrity ?? "");
  sendJson(request, response, {
    ...{ name, version, description: found.description, tags: found.tags },
    availableVersions: availableVersions(found),
    versions: found.versions,
    package: {
      ...document,
      metadata: { ...document.metadata, downloads: store.counts.total(name), stars: store.stars.count(name) },
    },
    advisories: advisoriesFor(index.advisories, name, version),
  });
}

async function packageAdvisories(
  store: RegistryStore,
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
): Promise<void> {
  const { index } = await store.read();
  const found = requirePackage(index.packages, name);
  const version = toNotFound(() => requireVersion(name, found));
  const { security } = await store.readVersion(found.versions[version]?.integrity ?? "");
  const advisories = advisoriesFor(index.advisories, name);
  const [worst] = advisoriesFor(index.advisories, name, version);
  sendJson(request, response, {
    server: name,
    advisories,
    security: {
      rating: worst?.severity ?? "none",
      capabilities: security.permissions,
      lastReview: security.audit?.lastReviewed ?? null,
    },
  });
}

async function stats(
  store: RegistryStore,
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
): Promise<void> {
  requirePackage((await store.read()).index.packages, name);
  sendJson(request, response, {
    name,
    downloads: store.counts.total(name),
    stars: store.stars.count(name),
    versions: store.counts.of(name),
  });
}

async function countDownload(
  store: RegistryStore,
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
  url: URL,
): Promise<void> {
  const found = requirePackage((await store.read()).index.packages, name);
  const version = toNotFound(() => requireVersion(name, found, url.searchParams.get("version") ?? undefined));
  store.counts.add(name, version);
  sendJson(request, response, { name, version, downloads: store.counts.total(name) });
}

async function publish(
  { store, authenticate }: RouteContext,
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
  url: URL,
): Promise<void> {
  const token = await authenticate(request);
  requireOwner(token, name);
  const text = await readBody(request, MAX_DOCUMENT_BYTES);
  const published = await store.quotas.take(token.id, { versions: 1 }, () =>
    store.publish(text, {
      tag: url.searchParams.get("tag") ?? undefined,
      file: url.searchParams.get("file")?.slice(0, 200) ?? "package.json",
      checkName: (written) => {
        if (written !== name)
          throw refused(422, `The document describes ${written}, but the URL names ${name}.`);
      },
    }),
  );
  sendJson(request, response, published, { status: 201 });
}

/** One star for each account: a scope is an account, whatever number of tokens it has. */
async function star(
  { store, authenticate }: RouteContext,
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
): Promise<void> {
  const { id, scope } = await authenticate(request);
  const text = await readBody(request, 1_000);
  const body = text === "" ? {} : parseJson(text);
  const undo = isObject(body) ? body["undo"] : undefined;
  if (undo !== undefined && typeof undo !== "boolean") throw refused(400, "undo must be true or false.");
  requirePackage((await store.read()).index.packages, name);
  const stars = await store.stars.set(name, scope === "*" ? `token:${id}` : `@${scope}`, undo !== true);
  sendJson(request, response, { name, stars });
}

async function upload(
  { store, authenticate, maxFileBytes }: RouteContext,
  request: IncomingMessage,
  response: ServerResponse,
  hash: string,
): Promise<void> {
  const token = await authenticate(request);
  if (token.access === "read") throw readOnly();
  const expected = parseFileName(hash);
  if (expected === undefined) throw refused(400, "The path must end with sha256- and 64 hexadecimal digits.");
  const length = request.headers["content-length"];
  if (length === undefined || !/^\d{1,15}$/.test(length)) throw refused(411, "Content-Length is missing.");
  const size = Number(length);
  const isNew = await store.quotas.take(token.id, { bytes: size }, () =>
    store.upload(request, { expected, size, maxBytes: maxFileBytes }),
  );
  // The registry has the file, so nobody reads the body.
  if (!isNew) request.resume();
  sendJson(request, response, { file: `files/${fileName(expected)}` }, { status: isNew ? 201 : 200 });
}

async function changeStatus(
  { store, authenticate }: RouteContext,
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
  action: string,
): Promise<void> {
  requireOwner(await authenticate(request), name);
  const body = parseJson(await readBody(request, 10_000));
  const { versions, message, undo } = isObject(body) ? body : {};
  const isText = (value: unknown): value is string | undefined =>
    value === undefined || typeof value === "string";
  if (!isText(versions) || !isText(message) || (undo !== undefined && typeof undo !== "boolean"))
    throw refused(400, "versions and message must be texts, undo must be true or false.");
  const status = action === "unpublish" ? "deleted" : undo === true ? "active" : "deprecated";
  const changed = await store.changeStatus(name, { status, versions, message });
  sendJson(request, response, { name, status, changed });
}

async function publishAdvisory(
  { store, authenticate }: RouteContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const token = await authenticate(request);
  if (token.access === "read") throw readOnly();
  const value = parseJson(await readBody(request, 100_000));
  const advisory = await store.publishAdvisory(value, (scope) => [scope, "*"].includes(token.scope));
  sendJson(request, response, advisory, { status: 201 });
}

function requireOwner({ scope, access }: TokenEntry, name: string): void {
  if (access === "read") throw readOnly();
  if (scope !== "*" && scope !== scopeOf(name)) throw notOwned(name);
}

function readOnly(): PortolanError {
  return new PortolanError("FORBIDDEN", "This token can only read and star packages.", {
    hint: "Ask the operator of the registry for a token that can publish. The operator creates it: portolan registry token add <scope>.",
  });
}

/** `@alice/x-mcp` in one or two segments. Advisories of the source format leave out the @. */
function toName(parts: readonly string[]): string {
  const text = parts.join("/");
  const name = text.startsWith("@") ? text : `@${text}`;
  if (scopeOf(name) === undefined)
    throw refused(400, `${JSON.stringify(text.slice(0, 100))} is not the name of a package.`);
  return name;
}

function requirePackage(packages: Readonly<Record<string, IndexPackage>>, name: string): IndexPackage {
  const found = Object.hasOwn(packages, name) ? packages[name] : undefined;
  if (found !== undefined) return found;
  throw new PortolanError("INPUT_INVALID", `This registry has no package ${name}.`, {
    hint: didYouMean(name, Object.keys(packages)) ?? "To find the name of a package: portolan search <words>",
    data: { status: 404 },
  });
}

function toNotFound<T>(find: () => T): T {
  try {
    return find();
  } catch (error) {
    const { message, hint, data } = error as PortolanError;
    throw new PortolanError("INPUT_INVALID", message, { hint, data: { ...data, status: 404 }, cause: error });
  }
}
