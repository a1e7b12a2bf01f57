// Contracts, drivers and in-process servers for tests of the contracts room: minimal valid values that a test overrides.

import { onTestFinished } from "vitest";
import {
  type Binding,
  type Contract,
  DEFAULT_LIMITS,
  type Driver,
  type JsonObject,
  type RpcMessage,
  type SecretEntry,
  type ToolDefinition,
} from "../../src/model/index.ts";
import { type MemoryServer, openUpstream, type Upstream } from "../../src/upstream/index.ts";

export const TEXT: JsonObject = { type: "string" };

export const object = (
  properties: JsonObject,
  required: readonly string[] = Object.keys(properties),
): JsonObject => ({
  type: "object",
  properties,
  required,
});

const origin = (file: string) => ({ file, line: 1, column: 1, format: "driver" });

export function contract(more: Partial<Contract> = {}): Contract {
  return {
    id: "fs-read",
    name: "Read a file",
    description: "Reads a file.",
    version: "1.2.0",
    inputs: object({ path: TEXT }),
    outputs: TEXT,
    idempotent: false,
    mutates: [],
    requires: { network: [], secrets: [], tools: [] },
    approval: "auto",
    riskLevel: 0,
    costClass: "trivial",
    timeoutMs: 5_000,
    driverConstraints: { forbid: [], requireKind: [] },
    tags: [],
    examples: [],
    metadata: {},
    origin: origin(`tools/${more.id ?? "fs-read"}/TOOL.md`),
    ...more,
  };
}

export function binding(more: Partial<Binding> = {}): Binding {
  return {
    tool: "fs-read",
    range: "^1.0.0",
    dropInputs: [],
    dropOutputs: [],
    mapping: {},
    toolName: "read_file",
    argumentMapping: {},
    resultExtract: "$",
    metadata: {},
    origin: { ...origin("drivers/one/DRIVER.md"), line: 20 },
    ...more,
  };
}

export function driver(more: Partial<Driver> = {}): Driver {
  return {
    id: "files-mcp",
    name: "Files",
    description: "Files.",
    version: "1.0.0",
    kind: "mcp",
    implements: [binding()],
    server: { kind: "binary", path: "files", args: [], env: {} },
    transport: "stdio",
    endpoint: { transport: "stdio", command: "files" },
    launch: {},
    prompts: [],
    resources: [],
    connection: {},
    region: ["global"],
    policyTags: [],
    tags: [],
    metadata: {},
    origin: origin("drivers/one/DRIVER.md"),
    ...more,
  };
}

export function secret(more: Partial<SecretEntry> = {}): SecretEntry {
  return {
    slug: "api-key",
    name: "Key",
    description: "A key.",
    kind: "opaque",
    access: { reveal: [], bind: [], rotate: [] },
    envNames: [],
    tags: [],
    metadata: {},
    origin: origin(".secrets/SECRETS.md"),
    ...more,
  };
}

export function tool(more: Partial<ToolDefinition> = {}): ToolDefinition {
  return { name: "read_file", inputSchema: object({ path: TEXT }), ...more };
}

export const text = (value: string, more: JsonObject = {}): JsonObject => ({
  content: [{ type: "text", text: value }],
  ...more,
});

export interface FakeServer {
  tools: ToolDefinition[];
  prompts?: JsonObject[];
  resources?: JsonObject[];
  templates?: JsonObject[];
  call: (name: string, args: JsonObject) => JsonObject | Promise<JsonObject>;
  read?: (uri: string) => JsonObject;
}

export interface OpenedServer {
  readonly upstream: Upstream;
  /** All tool calls, in order. */
  readonly calls: JsonObject[];
  /** URIs that the client has subscribed to. */
  readonly subscribed: string[];
  /** Notifies the client that the tools have changed. */
  changed(): void;
  /** Notifies the client that a resource has changed. */
  updated(uri: string): void;
}

/** A server in this process, behind the same upstream as any other. */
export async function serve(server: FakeServer, name = "inside"): Promise<OpenedServer> {
  const calls: JsonObject[] = [];
  const subscribed: string[] = [];
  let notify: (message: RpcMessage) => void = () => {};
  const answer = async (method: string, params: JsonObject): Promise<JsonObject> => {
    switch (method) {
      case "initialize":
        return {
          protocolVersion: "2025-11-25",
          capabilities: { tools: { listChanged: true }, prompts: {}, resources: {} },
          serverInfo: { name, version: "1" },
        };
      case "tools/list":
        return { tools: server.tools };
      case "prompts/list":
        return { prompts: server.prompts ?? [] };
      case "prompts/get":
        return { messages: [{ role: "user", content: { type: "text", text: `${String(params.name)}!` } }] };
      case "resources/list":
        return { resources: server.resources ?? [] };
      case "resources/templates/list":
        return { resourceTemplates: server.templates ?? [] };
      case "resources/read":
        return server.read?.(String(params.uri)) ?? { contents: [{ uri: params.uri, text: "read" }] };
      case "resources/subscribe":
        subscribed.push(String(params.uri));
        return {};
      case "resources/unsubscribe":
        subscribed.splice(subscribed.indexOf(String(params.uri)), 1);
        return {};
      case "tools/call":
        calls.push({ name: params.name, arguments: params.arguments });
        return server.call(String(params.name), params.arguments as JsonObject);
      default:
        return {};
    }
  };
  const memory: MemoryServer = {
    receive(message, send) {
      notify = send;
      if (!("method" in message) || !("id" in message)) return;
      const { id, method, params } = message;
      answer(method, params ?? {}).then(
        (result) => send({ jsonrpc: "2.0", id, result }),
        (error: Error) => send({ jsonrpc: "2.0", id, error: { code: -32603, message: error.message } }),
      );
    },
  };
  const upstream = await openUpstream({
    definition: {
      name,
      endpoint: { transport: "stdio", command: "unused" },
      era: "legacy",
      limits: DEFAULT_LIMITS,
    },
    target: { transport: "memory", server: memory },
    caller: { clientInfo: { name: "test", version: "1" }, capabilities: {} },
    watch: true,
    report: () => {},
    eras: { isLegacy: async () => false, remember: async () => {} },
  });
  onTestFinished(() => upstream.close());
  return {
    upstream,
    calls,
    subscribed,
    changed: () => notify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }),
    updated: (uri) => notify({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } }),
  };
}
