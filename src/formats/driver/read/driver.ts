// Reads a DRIVER.md: text in, a driver and all diagnostics out.

import { basename, dirname, resolve } from "node:path";
import type { Diagnostic } from "../../../errors/index.ts";
import type { Driver, DriverServer } from "../../../model/index.ts";
import {
  Diagnostics,
  entryOf,
  nodeAt,
  type ObjectNode,
  quoted,
  type TextNode,
} from "../../document/index.ts";
import { definedOnly } from "../../manifest/index.ts";
import { type ReadContext, toWhole } from "../../schema-builder/index.ts";
import { ANY_DRIVER } from "../schema/driver-schema.ts";
import { MCP_DRIVER, MCP_FIELDS, type McpDriverValue } from "../schema/mcp-schema.ts";
import { checkSurfacesOnce, placesOfSurfaces } from "../schema/surfaces-schema.ts";
import { checkContractsOnce, toBinding } from "./bindings.ts";
import { checkEgress, toLaunchSettings } from "./launch.ts";
import { toEndpoint } from "./endpoint.ts";
import { readFrontmatter } from "./frontmatter.ts";
import { noteSlips, withoutMoved } from "./moved-keys.ts";
import { checkNoSecrets, placesOfSecrets } from "./references.ts";
import { readServerJson, type ServerJson } from "./server-json.ts";

export interface DriverOptions {
  /** The `server.json` beside the file, which may carry the server block. */
  readonly serverJson?: ServerJson;
  /** The definition in the code beside the file, as the text of a file. It fills in keys that the file does not have. */
  readonly code?: string;
}

export interface DriverFile {
  /** Absent when the file has an error. */
  readonly driver?: Driver;
  /** The SECRETS.md that `auth.ref` names, with the place of the reference. */
  readonly secretsRef?: { readonly path: string; readonly line: number; readonly column: number };
  readonly diagnostics: readonly Diagnostic[];
}

interface DriverContext extends ReadContext {
  readonly root: ObjectNode;
  readonly file: string;
}

export function parseDriver(text: string, file: string, options: DriverOptions = {}): DriverFile {
  const { root: written, diagnostics: syntax } = readFrontmatter(text, file);
  if (written === undefined) return { diagnostics: syntax };
  const diagnostics = new Diagnostics(file, syntax);
  const root = withoutMoved(withCode(written, options.code, file), diagnostics);
  const context: DriverContext = { diagnostics, folder: dirname(resolve(file)), root, file };
  const kind = nodeAt(root, "kind");
  if (kind !== undefined && !(kind.kind === "string" && kind.value === "mcp")) {
    checkOtherDriver(kind, context);
    return { diagnostics: diagnostics.sorted() };
  }
  checkNoSecrets(withoutServer(root), new Set(), diagnostics);
  const draft = MCP_DRIVER.read(root, context) ?? {};
  checkDriverDocument(draft.id, context);
  const { server, diagnostics: beside } = findServer(draft, options.serverJson, context);
  const driver = toDriver(draft, server, context);
  const isServerBroken = beside.some(({ severity }) => severity === "error");
  const ref = nodeAt(root, "auth", "ref");
  const path = draft.auth?.ref;
  return definedOnly<DriverFile>({
    driver: isServerBroken ? undefined : driver,
    secretsRef:
      driver !== undefined && ref && path !== undefined
        ? { path, line: ref.line, column: ref.column }
        : undefined,
    diagnostics: [...diagnostics.sorted(), ...beside],
  });
}

/** A driver of another kind is checked, but not used: a workspace may be made for several hosts. */
function checkOtherDriver(kind: TextNode, context: DriverContext): void {
  const driver = ANY_DRIVER.read(context.root, context) ?? {};
  checkDriverDocument(driver.id, context);
  if (driver.kind !== undefined)
    context.diagnostics.add(
      kind,
      `Portolan ignores this driver, because its kind is ${driver.kind}`,
      "Portolan serves only drivers of kind mcp. Other hosts may use this driver.",
      "info",
    );
}

function checkDriverDocument(id: string | undefined, context: DriverContext): void {
  const { root, diagnostics } = context;
  noteSlips(root, [...(MCP_DRIVER.rules.keys?.values() ?? [])], diagnostics);
  checkContractsOnce(nodeAt(root, "implements"), context);
  const folder = /(?:^|[\\/])\.drivers[\\/]([^\\/]+)[\\/][^\\/]+$/.exec(context.file)?.[1];
  const place = nodeAt(root, "id");
  if (place !== undefined && folder !== undefined && id !== undefined && id !== folder)
    diagnostics.warn(
      place,
      `the id ${quoted(id)} differs from the name of its folder`,
      `Rename the folder to ${id}.`,
    );
}

/** The definition in code may not change the server: a file without one is incomplete by itself. */
function withCode(root: ObjectNode, code: string | undefined, file: string): ObjectNode {
  const more = code === undefined ? undefined : readFrontmatter(code, file).root;
  if (more === undefined) return root;
  const said = new Set(["server", ...root.entries.map(({ key }) => key)]);
  return { ...root, entries: [...root.entries, ...more.entries.filter(({ key }) => !said.has(key))] };
}

/** Runs the checks between the parts of a driver, and builds it when all of them are right. */
function toDriver(
  draft: McpDriverValue,
  server: DriverServer | undefined,
  context: DriverContext,
): Driver | undefined {
  const { root, file, diagnostics } = context;
  const at = (...path: string[]): TextNode | undefined => nodeAt(root, ...path);
  checkTransport(server?.kind, draft.transport, at("transport"), diagnostics);
  checkSurfacesOnce(root, context);
  const launch = toLaunchSettings(draft, { ...context, remote: server?.kind === "remote" });
  const listed = at("network", "egress") ?? at("sandbox", "network", "egress") ?? at("network");
  const rules = listed === undefined ? undefined : launch.sandbox?.network;
  checkEgress(server, rules, listed ?? at("server", "url") ?? at("server") ?? root, diagnostics);
  const whole = toWhole(MCP_FIELDS, draft, context);
  if (whole === undefined || server === undefined) return undefined;
  const { id, name, description, version, kind, transport, auth, protocolVersion } = whole;
  const { connection = {}, cost, timeoutMs, retry, healthCheck } = whole;
  return definedOnly<Driver>({
    ...{ id, name, description, version, kind, transport, server, launch, auth, protocolVersion },
    ...{ connection, cost, timeoutMs, retry, healthCheck },
    implements: whole.implements.flatMap((binding) => toBinding(binding, file) ?? []),
    endpoint: toEndpoint(server, transport, auth, file),
    prompts: whole.prompts ?? [],
    resources: whole.resources ?? [],
    region: whole.region ?? ["global"],
    policyTags: whole.policyTags ?? [],
    tags: whole.tags ?? [],
    metadata: whole.metadata ?? {},
    origin: {
      file,
      line: root.line,
      column: root.column,
      format: "driver",
      places: { ...placesOfSurfaces(root), ...placesOfSecrets(at("server")) },
    },
  });
}

const TRANSPORTS: Readonly<Record<DriverServer["kind"], readonly string[]>> = {
  binary: ["stdio"],
  npm: ["stdio"],
  docker: ["stdio", "http"],
  remote: ["sse", "http"],
};

function checkTransport(
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
    `a server of kind ${server} cannot use the transport ${transport}`,
    `Write transport: ${fitting.join(" or ")}.`,
  );
}

/** The server of the frontmatter, or that of the server.json beside it. */
function findServer(
  draft: McpDriverValue,
  serverJson: ServerJson | undefined,
  { root, diagnostics }: DriverContext,
): { readonly server?: DriverServer; readonly diagnostics: readonly Diagnostic[] } {
  const entry = entryOf(root, "server");
  if (entry !== undefined && entry.value.kind !== "null") {
    if (serverJson !== undefined)
      diagnostics.warn(
        entry,
        `server is declared here and in ${basename(serverJson.file)}; Portolan uses only the one here`,
        "Keep one of the two.",
      );
    return { server: draft.server, diagnostics: [] };
  }
  if (serverJson !== undefined) return readServerJson(serverJson);
  diagnostics.add(
    entry ?? root,
    "server is missing: the driver does not name its MCP server",
    "Write server: { kind: npm, package: <name> }, or another kind: binary, docker, remote.",
  );
  return { diagnostics: [] };
}

/** The server block has its own rules about secrets. */
function withoutServer(root: ObjectNode): ObjectNode {
  return { ...root, entries: root.entries.filter(({ key }) => key !== "server") };
}
