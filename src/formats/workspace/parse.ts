// portolan.yaml: text in, settings and servers out, with every problem of the file.

import type { Diagnostic } from "../../errors/index.ts";
import {
  type ContractPolicy,
  type DeclaredServer,
  type GatewaySettings,
  isObject,
} from "../../model/index.ts";
import {
  checkNaming,
  type ServerDefaults,
  toDeclaredServer,
  toDefaults,
  withServer,
} from "../manifest/index.ts";
import {
  aliasProblem,
  checkShape,
  type Entry,
  nodeAt,
  type Place,
  Problems,
  readText,
  type TextNode,
  toLabel,
} from "../text/index.ts";
import { toContractPolicy } from "./contracts.ts";
import { toGatewaySettings } from "./gateway.ts";
import { serversNamedByGateway } from "./gateway-callers.ts";
import { type CheckedWorkspace, WORKSPACE_SHAPE } from "./shape.ts";

/** A word of the file with the place where it stands, for problems that show only later. */
export interface PlacedWord extends Place {
  readonly text: string;
}

export interface WorkspaceSettings {
  /** As written; undefined when the usual names are to be looked for. */
  readonly sources?: readonly PlacedWord[] | undefined;
  readonly naming?: string | undefined;
  readonly descriptionPrefix?: boolean | string | undefined;
  /** As written, relative to the workspace's folder. */
  readonly envFile?: string | undefined;
  readonly defaults: ServerDefaults;
  readonly enabledServers?: readonly PlacedWord[] | undefined;
  /** Nothing also when it has errors: half of the rules about who may do what is worse than none. */
  readonly gateway?: GatewaySettings | undefined;
  readonly contracts?: ContractPolicy | undefined;
  /** The aliases that the gateway's rules name. */
  readonly gatewayServers?: readonly PlacedWord[] | undefined;
}

export interface WorkspaceResult {
  /** Those servers that are right in themselves; `defaults` are not filled in, since they also hold for other files. */
  readonly servers: readonly DeclaredServer[];
  readonly settings: WorkspaceSettings;
  readonly diagnostics: readonly Diagnostic[];
}

export function parseWorkspace(text: string, file: string): WorkspaceResult {
  const { root, diagnostics } = readText(text, file);
  if (root === undefined) return { servers: [], settings: { defaults: {} }, diagnostics };
  const problems = new Problems(file, diagnostics);
  // A file with nothing but comments is a workspace that leaves everything open.
  const workspace = (
    root.kind === "null" ? {} : (checkShape(WORKSPACE_SHAPE, root, problems) ?? {})
  ) as CheckedWorkspace;
  checkNaming(workspace.naming, nodeAt(root, "naming"), problems);
  const entries = serverEntries(root);
  for (const entry of entries) checkAlias(entry, problems);
  const servers = entries.flatMap((entry) => {
    const server = toServer(entry, workspace, problems);
    return server === undefined ? [] : [server];
  });
  const gateway = toGatewaySettings(workspace.gateway, nodeAt(root, "gateway"), problems);
  const named = entries.map(({ key, value }) => ({ alias: key, node: value }));
  return {
    servers,
    settings: toSettings(workspace, root, gateway),
    diagnostics: withServer(problems.done(), named),
  };
}

/** True for a value that can only be meant as a workspace's own file. */
export function looksLikeWorkspace(value: unknown): boolean {
  if (!isObject(value)) return false;
  const ownKeys = ["sources", "naming", "defaults", "env_file", "enabled_servers", "gateway", "contracts"];
  return isObject(value.servers) || (value.version === 1 && ownKeys.some((key) => Object.hasOwn(value, key)));
}

function serverEntries(root: TextNode): readonly Entry[] {
  const servers = nodeAt(root, "servers");
  return servers?.kind === "object" ? servers.entries : [];
}

function checkAlias(entry: Entry, problems: Problems): void {
  const problem = aliasProblem(entry.key);
  if (problem !== undefined) problems.add(entry, problem.message, problem.hint);
}

function toServer(entry: Entry, workspace: CheckedWorkspace, problems: Problems): DeclaredServer | undefined {
  const { key: alias, value: node } = entry;
  const server = workspace.servers?.[alias];
  if (node.kind !== "object" || server === undefined) return undefined;
  const reachable = ["transport", "command", "npm", "docker", "url"].some((name) => {
    const given = nodeAt(node, name);
    return given !== undefined && given.kind !== "null";
  });
  if (!reachable)
    problems.add(
      entry,
      `${toLabel(entry.path)} says neither command nor url`,
      "Write command (or npm, or docker) for a program to run, or url for a server to reach.",
    );
  const { file } = problems;
  return toDeclaredServer(server, {
    alias,
    node,
    problems,
    origin: { file, line: entry.line, column: entry.column, format: "workspace" },
    enabled: true,
  });
}

function toSettings(
  workspace: CheckedWorkspace,
  root: TextNode,
  gateway: GatewaySettings | undefined,
): WorkspaceSettings {
  return {
    sources: placed(nodeAt(root, "sources")),
    naming: workspace.naming,
    descriptionPrefix: workspace.description_prefix,
    envFile: workspace.env_file,
    defaults: toDefaults(workspace.defaults ?? {}),
    enabledServers: placed(nodeAt(root, "enabled_servers")),
    gateway,
    contracts: toContractPolicy(workspace.contracts),
    gatewayServers:
      gateway && serversNamedByGateway(nodeAt(root, "gateway")).flatMap((node) => placed(node) ?? []),
  };
}

function placed(node: TextNode | undefined): PlacedWord[] | undefined {
  if (node === undefined || node.kind === "null") return undefined;
  const items = node.kind === "list" ? node.items : [node];
  return items.flatMap((item) => {
    if (item.kind !== "string" || item.value === "") return [];
    const { line, column, path, value } = item;
    return [{ line, column, path, text: String(value) }];
  });
}
