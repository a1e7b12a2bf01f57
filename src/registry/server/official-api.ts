// The official MCP registry API v0.1, read-only: list with cursor and filters, versions of a server, one version.

import { PortolanError } from "../../errors/index.ts";
import type { JsonObject } from "../../model/index.ts";
import { type IndexPackage, type IndexVersion, updatedAt } from "../catalog/types.ts";
import { resolveVersion, sortVersions } from "../catalog/versions.ts";
import type { RegistryStore } from "../store/store.ts";
import { type Filters, parseCursor, toCursor } from "./cursor.ts";
import { fromServerName, toServerEntry, toServerName } from "./server-json.ts";

const DEFAULT_LIMIT = 30;
const MAX_LIMIT = 100;
const MAX_SEARCH = 200;

/** `GET /v0.1/servers` */
export async function listServers(store: RegistryStore, query: URLSearchParams): Promise<JsonObject> {
  const limit = parseLimit(query.get("limit"));
  const written = query.get("cursor");
  const cursor = written === null || written === "" ? undefined : parseCursor(written);
  if (written !== null && written !== "" && cursor === undefined)
    throw badQuery("cursor was not issued by this registry");
  const filters = toFilters(query, cursor ?? {});
  const { packages } = (await store.read()).index;
  const page: { name: string; version: string; entry: IndexVersion; isLatest: boolean }[] = [];
  const names = Object.keys(packages).sort();
  const start = cursor === undefined ? 0 : firstAtLeast(names, cursor.name);
  let hasMore = false;
  scan: for (let at = start; at < names.length; at += 1) {
    const name = names[at] as string;
    for (const found of matching(name, packages[name] as IndexPackage, filters)) {
      if (
        cursor !== undefined &&
        name === cursor.name &&
        !isAfter(found.version, cursor.after, packages[name])
      )
        continue;
      if (page.length === limit) {
        hasMore = true;
        break scan;
      }
      page.push({ name, ...found });
    }
  }
  const servers: JsonObject[] = [];
  for (const { entry, isLatest } of page)
    servers.push(toServerEntry(await store.readVersion(entry.integrity), entry, isLatest));
  const last = page.at(-1);
  return {
    servers,
    metadata: {
      count: servers.length,
      ...(hasMore && last !== undefined
        ? { nextCursor: toCursor({ ...filters, name: last.name, after: last.version }) }
        : {}),
    },
  };
}

/** `GET /v0.1/servers/{name}/versions` */
export async function listServerVersions(store: RegistryStore, serverName: string): Promise<JsonObject> {
  const found = await findPackage(store, serverName);
  const all = matching(fromServerName(serverName), found, { includeDeleted: true });
  const servers: JsonObject[] = [];
  for (const { entry, isLatest } of all)
    servers.push(toServerEntry(await store.readVersion(entry.integrity), entry, isLatest));
  return { servers, metadata: { count: servers.length } };
}

/** `GET /v0.1/servers/{name}/versions/{version|latest}` */
export async function getServerVersion(
  store: RegistryStore,
  serverName: string,
  wanted: string,
): Promise<JsonObject> {
  const found = await findPackage(store, serverName);
  const latest = resolveVersion(found);
  const version = wanted === "latest" ? latest : wanted;
  const entry =
    version !== undefined && Object.hasOwn(found.versions, version) ? found.versions[version] : undefined;
  if (entry === undefined) throw notFound(`Server version not found: ${serverName} ${wanted}`);
  return toServerEntry(await store.readVersion(entry.integrity), entry, version === latest);
}

async function findPackage(store: RegistryStore, serverName: string): Promise<IndexPackage> {
  const { packages } = (await store.read()).index;
  const name = fromServerName(serverName);
  const found = Object.hasOwn(packages, name) ? packages[name] : undefined;
  if (found === undefined) throw notFound(`Server not found: ${serverName}`);
  return found;
}

/** The versions of a package that pass the filters, the highest first. */
function matching(
  name: string,
  found: IndexPackage,
  { search, version: wanted, updatedSince, includeDeleted = false }: Filters,
): { version: string; entry: IndexVersion; isLatest: boolean }[] {
  if (search !== undefined) {
    const text = search.toLowerCase();
    const isFound = toServerName(name).includes(text) || found.description.toLowerCase().includes(text);
    if (!isFound) return [];
  }
  const latest = resolveVersion(found);
  const since = updatedSince === undefined ? undefined : Date.parse(updatedSince);
  // A client that asks for changes must learn of deletions too.
  const withDeleted = includeDeleted || since !== undefined;
  return sortVersions(Object.keys(found.versions)).flatMap((version) => {
    const entry = found.versions[version] as IndexVersion;
    if (entry.status === "deleted" && !withDeleted) return [];
    if (since !== undefined && Date.parse(updatedAt(entry)) < since) return [];
    if (wanted === "latest" && version !== latest) return [];
    if (wanted !== undefined && wanted !== "latest" && version !== wanted) return [];
    return [{ version, entry, isLatest: version === latest }];
  });
}

/** True if a version comes later in the list than another, which may have been removed since. */
function isAfter(version: string, other: string, found: IndexPackage | undefined): boolean {
  const order = sortVersions([...new Set([...Object.keys(found?.versions ?? {}), other])]);
  return order.indexOf(version) > order.indexOf(other);
}

function firstAtLeast(sorted: readonly string[], name: string): number {
  const at = sorted.findIndex((one) => one >= name);
  return at < 0 ? sorted.length : at;
}

/** Filters of the query; what it leaves out comes from the cursor. */
function toFilters(query: URLSearchParams, before: Filters): Filters {
  const search = query.get("search") ?? before.search;
  const version = query.get("version") ?? before.version;
  const updatedSince = query.get("updated_since") ?? before.updatedSince;
  const deleted = query.get("include_deleted");
  if (search !== undefined && search.length > MAX_SEARCH)
    throw badQuery(`search is longer than ${MAX_SEARCH} characters`);
  if (version !== undefined && version.length > 255) throw badQuery("version is longer than 255 characters");
  if (updatedSince !== undefined && !/^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/.test(updatedSince))
    throw badQuery("updated_since must be a date of RFC 3339, such as 2026-01-15T10:00:00Z");
  if (deleted !== null && deleted !== "true" && deleted !== "false")
    throw badQuery("include_deleted must be true or false");
  const includeDeleted = deleted === null ? before.includeDeleted : deleted === "true";
  return {
    ...(search === undefined || search === "" ? {} : { search }),
    ...(version === undefined || version === "" ? {} : { version }),
    ...(updatedSince === undefined ? {} : { updatedSince }),
    ...(includeDeleted === undefined ? {} : { includeDeleted }),
  };
}

function parseLimit(text: string | null): number {
  if (text === null || text === "") return DEFAULT_LIMIT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw badQuery(`limit must be a number from 1 to ${MAX_LIMIT}`);
  return limit;
}

function badQuery(message: string): PortolanError {
  return new PortolanError("INPUT_INVALID", message, { hint: "", data: { status: 400 } });
}

function notFound(message: string): PortolanError {
  return new PortolanError("INPUT_INVALID", message, { hint: "", data: { status: 404 } });
}
