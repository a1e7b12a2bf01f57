// Reads one server of an mcpfile.

import { resolve } from "node:path";
import type { ClientTls, InvokedServer } from "../../../model/index.ts";
import { noteRelaxedSandbox } from "../../manifest/index.ts";
import { nodeAt, type ObjectNode, quoted, type TextNode, toLabel } from "../../document/index.ts";
import type { Context } from "./context.ts";
import { createBases } from "./extends.ts";
import { checkUnique } from "./names.ts";
import { readPrompt, readResource, readResourceTemplate, readTool } from "./primitives.ts";
import type { Primitive } from "../schema/file-schema.ts";
import type { McpRuntime } from "../schema/runtime-schema.ts";

export interface ReadServer {
  /** Without its invalid tools. */
  readonly server: InvokedServer;
  readonly runtime?: McpRuntime;
  readonly node: ObjectNode;
}

const SEMVER = /^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/;

/** Returns undefined if the server has no name or version, or if its node is no object. */
export function readServer(node: TextNode, outside: Context): ReadServer | undefined {
  const { diagnostics, version, format, folder } = outside;
  const whole = node.path.length === 0;
  const checked = (whole ? format.file : format.server).read(node, outside) ?? {};
  if (node.kind !== "object") return undefined;
  const block = nodeAt(node, "sandbox");
  const { sandbox, runtime } = checked;
  if (sandbox !== undefined) noteRelaxedSandbox(sandbox, block, outside);
  const context = {
    ...outside,
    sandbox,
    sandboxBroken: block !== undefined && diagnostics.hasErrorIn(block),
  };
  checkVersion(nodeAt(node, "version"), context);
  const bases = createBases(version === "0.0.1" ? undefined : nodeAt(node, "invocationBases"), context);
  // Unused bases are checked as well.
  for (const name of bases.names()) bases(name);
  const all = <T>(kind: Primitive, read: (item: ObjectNode) => T | undefined): T[] =>
    itemsOf(node, kind, context).flatMap((item) => read(item) ?? []);
  const first = version === "0.0.1";
  const tools = all("tools", (item) => readTool(item, bases, context));
  const prompts = first ? [] : all("prompts", (item) => readPrompt(item, bases, context));
  const resources = first ? [] : all("resources", (item) => readResource(item, bases, context));
  const resourceTemplates = first
    ? []
    : all("resourceTemplates", (item) => readResourceTemplate(item, bases, context));
  if (checked.name === undefined || checked.version === undefined) return undefined;
  const clientTls = toClientTls(runtime, folder);
  const server: InvokedServer = {
    info: { name: checked.name, version: checked.version },
    instructions: checked.instructions,
    folder,
    tools,
    prompts,
    resources,
    resourceTemplates,
    clientTls,
  };
  return { server, runtime, node };
}

function itemsOf(node: ObjectNode, kind: Primitive, { diagnostics, version }: Context): ObjectNode[] {
  const list = nodeAt(node, kind);
  if (list?.kind !== "list" || (version === "0.0.1" && kind !== "tools")) return [];
  const what = {
    tools: "tool",
    prompts: "prompt",
    resources: "resource",
    resourceTemplates: "resource template",
  }[kind];
  checkUnique(
    list.items.map((item) => nodeAt(item, "name")),
    `${what} name`,
    diagnostics,
  );
  if (kind === "resources")
    checkUnique(
      list.items.map((item) => nodeAt(item, "uri")),
      "uri",
      diagnostics,
    );
  return list.items.flatMap((item) => {
    if (item.kind === "object") return [item];
    diagnostics.add(item, `${toLabel(item.path)} must be an object with keys`);
    return [];
  });
}

function checkVersion(node: TextNode | undefined, { diagnostics }: Context): void {
  if (node?.kind === "number" || node?.kind === "boolean")
    diagnostics.warn(
      node,
      `YAML reads version ${node.source} as a ${node.kind}; Portolan uses it as it is written`,
      `Put it into quotes: "${node.source}".`,
    );
  else if (node?.kind === "string" && node.value !== "" && !SEMVER.test(String(node.value)))
    diagnostics.warn(
      node,
      `version ${quoted(String(node.value))} is not a semantic version`,
      "Write for example 1.0.0.",
    );
}

/** The certificates that HTTP requests of the file's servers trust. */
export function toClientTls(runtime: McpRuntime | undefined, folder: string): ClientTls | undefined {
  const config = runtime?.clientTlsConfig;
  if (config === undefined) return undefined;
  const { caCertFiles = [], caCertDir, insecureSkipVerify } = config;
  return {
    caCertFiles: caCertFiles.map((file) => resolve(folder, file)),
    caCertDir: caCertDir === undefined ? undefined : resolve(folder, caCertDir),
    insecureSkipVerify: insecureSkipVerify === true,
  };
}
