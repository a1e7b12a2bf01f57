// A DRIVER.md: what every driver must have, then what an MCP driver must have; all diagnostics of both at once.

import { basename, dirname, resolve } from "node:path";
import type { Diagnostic } from "../../errors/index.ts";
import type { Binding, Driver, DriverServer } from "../../model/index.ts";
import { definedOnly } from "../manifest/index.ts";
import {
  checkShape,
  entryOf,
  nodeAt,
  type ObjectNode,
  Diagnostics,
  quoted,
  type TextNode,
} from "../document/index.ts";
import { readAuth, readHealth } from "./auth.ts";
import { checkBindings, checkMcpBindings, toBinding, toCost, toRetry } from "./bindings.ts";
import type { CheckedDriver } from "./checked-driver.ts";
import { DRIVER_SHAPE } from "./driver-shape.ts";
import { checkEgress } from "./egress.ts";
import { toEndpoint } from "./endpoint.ts";
import { checkVersion } from "./fields.ts";
import { readFrontmatter } from "./frontmatter.ts";
import { readLaunch } from "./launch.ts";
import { type CheckedMcp, MCP_SHAPE } from "./mcp-shape.ts";
import { withoutMoved } from "./moved-keys.ts";
import { findRevision } from "./protocol-version.ts";
import { checkNoSecrets, placesOfSecrets } from "./references.ts";
import { checkTransport, readServer } from "./server.ts";
import { readServerJson, type ServerJson } from "./server-json.ts";
import { noteSlips } from "./strict-keys.ts";
import { placesOfSurfaces, readPrompts, readResources } from "./surfaces.ts";

export interface DriverOptions {
  /** The `server.json` beside the file, which may carry the server block. */
  readonly serverJson?: ServerJson | undefined;
  /** What the code beside the file says, as a file would: it holds where the file says nothing. */
  readonly code?: string | undefined;
}

export interface DriverFile {
  /** Nothing when something in it is wrong. */
  readonly driver?: Driver | undefined;
  /** The SECRETS.md that `auth.ref` names, and where it does. */
  readonly secretsRef?: { readonly path: string; readonly line: number; readonly column: number } | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

export function parseDriver(text: string, file: string, options: DriverOptions = {}): DriverFile {
  const { root: written, diagnostics: syntax } = readFrontmatter(text, file);
  if (written === undefined) return { diagnostics: syntax };
  const diagnostics = new Diagnostics(file, syntax);
  const root = withoutMoved(withCode(written, options.code, file), diagnostics);
  const checked = checkUniversal(root, diagnostics);
  const kind = nodeAt(root, "kind");
  if (checked.kind !== undefined && checked.kind !== "mcp" && kind !== undefined)
    // Nothing is wrong with it: a workspace may be made for several hosts.
    diagnostics.add(
      kind,
      `a driver of kind ${checked.kind} is skipped: it is for another host`,
      "Only those of kind mcp are served here.",
      "info",
    );
  if (kind !== undefined && checked.kind !== "mcp") return { diagnostics: diagnostics.sorted() };
  const mcp = (checkShape(MCP_SHAPE, withoutServer(root), diagnostics) ?? {}) as CheckedMcp;
  const { server, diagnostics: beside } = findServer(root, options.serverJson, diagnostics);
  const driver = toDriver(checked, mcp, server, { root, file, diagnostics });
  const broken = beside.some(({ severity }) => severity === "error");
  const ref = nodeAt(root, "auth", "ref");
  const path = driver?.auth?.ref;
  return definedOnly<DriverFile>({
    driver: broken || diagnostics.hasErrorIn(root) ? undefined : driver,
    secretsRef: ref && path !== undefined ? { path, line: ref.line, column: ref.column } : undefined,
    diagnostics: [...once(diagnostics.sorted()), ...beside],
  });
}

/** A server is not among it: without one the file alone could not have been read. */
function withCode(root: ObjectNode, code: string | undefined, file: string): ObjectNode {
  const more = code === undefined ? undefined : readFrontmatter(code, file).root;
  if (more === undefined) return root;
  const said = new Set(["server", ...root.entries.map(({ key }) => key)]);
  return { ...root, entries: [...root.entries, ...more.entries.filter(({ key }) => !said.has(key))] };
}

/** What both checks find is told once. */
function once(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const seen = new Set<string>();
  return diagnostics.filter(({ path, message }) => {
    const size = seen.size;
    return seen.add(`${path}\n${message}`).size > size;
  });
}

function checkUniversal(root: ObjectNode, diagnostics: Diagnostics): CheckedDriver {
  const checked = (checkShape(DRIVER_SHAPE, root, diagnostics) ?? {}) as CheckedDriver;
  noteSlips(root, [...Object.keys(DRIVER_SHAPE.fields), ...Object.keys(MCP_SHAPE.fields)], diagnostics);
  checkVersion(checked.version, nodeAt(root, "version"), diagnostics);
  checkBindings(checked.implements ?? [], nodeAt(root, "implements"), diagnostics);
  const folder = /(?:^|[\\/])\.drivers[\\/]([^\\/]+)[\\/][^\\/]+$/.exec(diagnostics.file)?.[1];
  const id = nodeAt(root, "id");
  if (id !== undefined && folder !== undefined && checked.id !== undefined && checked.id !== folder)
    diagnostics.warn(
      id,
      `the id ${quoted(checked.id)} is not the name of its folder`,
      `Call the folder ${checked.id}.`,
    );
  return checked;
}

interface Context {
  readonly root: ObjectNode;
  readonly file: string;
  readonly diagnostics: Diagnostics;
}

/** The parts, each with its own checks; nothing without a server. */
function toDriver(
  checked: CheckedDriver,
  mcp: CheckedMcp,
  server: DriverServer | undefined,
  { root, file, diagnostics }: Context,
): Driver | undefined {
  const folder = dirname(resolve(file));
  const at = (...path: string[]): TextNode | undefined => nodeAt(root, ...path);
  checkMcpBindings(at("implements"), diagnostics);
  checkTransport(server?.kind, mcp.transport, at("transport"), diagnostics);
  checkNoSecrets(withoutServer(root), new Set(), diagnostics);
  const launch = readLaunch(checked, mcp, { root, folder, diagnostics, remote: server?.kind === "remote" });
  const listed = at("network", "egress") ?? at("sandbox", "network", "egress") ?? at("network");
  const rules = listed === undefined ? undefined : launch.sandbox?.network;
  checkEgress(server, rules, listed ?? at("server", "url") ?? at("server") ?? root, diagnostics);
  const auth = readAuth(checked.auth, at("auth"), diagnostics);
  const parts = {
    launch,
    auth,
    protocolVersion: readRevision(mcp.protocol_version, at("protocol_version"), diagnostics),
    prompts: readPrompts(mcp.prompts, at("prompts"), diagnostics),
    resources: readResources(mcp.resources, at("resources"), diagnostics),
    healthCheck: readHealth(checked.health_check, at("health_check"), diagnostics),
  };
  const { transport, connection_options: connection } = mcp;
  if (server === undefined || transport === undefined || diagnostics.hasErrorIn(root)) return undefined;
  return definedOnly<Driver>({
    id: checked.id ?? "",
    name: checked.name ?? "",
    description: checked.description ?? "",
    version: checked.version ?? "",
    kind: "mcp",
    implements: toBindings(checked, mcp, at("implements"), file),
    server,
    transport,
    endpoint: toEndpoint(server, transport, auth, file),
    ...parts,
    connection: definedOnly({
      timeoutMs: connection?.timeout_ms,
      maxRetries: connection?.max_retries,
      keepalive: connection?.keepalive,
    }),
    region: checked.region ?? ["global"],
    policyTags: checked.policy_tags ?? [],
    cost: toCost(checked.cost_override),
    timeoutMs: checked.timeout_override_ms,
    retry: toRetry(checked.retry_override),
    tags: checked.tags ?? [],
    metadata: { ...checked.metadata },
    origin: {
      file,
      line: root.line,
      column: root.column,
      format: "driver",
      places: {
        ...placesOfSurfaces(at("prompts"), at("resources")),
        ...placesOfSecrets(at("server")),
      },
    },
  });
}

function toBindings(
  checked: CheckedDriver,
  mcp: CheckedMcp,
  list: TextNode | undefined,
  file: string,
): Binding[] {
  return (checked.implements ?? []).flatMap((binding, index) => {
    const [own, node] = [mcp.implements?.[index]?.metadata?.mcp, nodeAt(list, index)];
    return binding === undefined || own === undefined || node === undefined
      ? []
      : [toBinding(binding, own, node, file)];
  });
}

/** The block of the frontmatter, or that of the file beside it. */
function findServer(
  root: ObjectNode,
  serverJson: ServerJson | undefined,
  diagnostics: Diagnostics,
): { readonly server?: DriverServer | undefined; readonly diagnostics: readonly Diagnostic[] } {
  const entry = entryOf(root, "server");
  if (entry !== undefined && entry.value.kind !== "null") {
    if (serverJson !== undefined)
      diagnostics.warn(
        entry,
        `server stands here and in ${basename(serverJson.file)}, which is not read`,
        "Keep one of the two.",
      );
    return { server: readServer(entry.value, diagnostics), diagnostics: [] };
  }
  if (serverJson !== undefined) return readServerJson(serverJson);
  diagnostics.add(
    entry ?? root,
    "server is missing: nothing says where the MCP server is",
    "Write server: { kind: npm, package: <name> }, or another kind: binary, docker, remote.",
  );
  return { diagnostics: [] };
}

function readRevision(
  written: string | undefined,
  node: TextNode | undefined,
  diagnostics: Diagnostics,
): string | undefined {
  if (written === undefined || node === undefined) return undefined;
  const found = findRevision(written);
  if (found.ok) return found.revision;
  diagnostics.add(node, `protocol_version ${quoted(written)} ${found.message}`, found.hint);
  return undefined;
}

/** The server block has checks of its own, wherever it stands. */
function withoutServer(root: ObjectNode): ObjectNode {
  return { ...root, entries: root.entries.filter(({ key }) => key !== "server") };
}
