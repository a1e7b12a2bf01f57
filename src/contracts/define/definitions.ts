// Types of definitions in code: the fields of the files in camelCase, with schemas as JSON Schema or of a schema library.

import type { CostClass, DriverKind, JsonObject, JsonSchema } from "../../model/index.ts";
import type { ToolHandle } from "./define.ts";
import type { DriverHooks } from "../driver/bound-tool.ts";

/** A schema of Zod, or of another library that can convert it to JSON Schema. */
export interface SchemaLibrarySchema {
  readonly "~standard": {
    readonly jsonSchema?:
      | {
          readonly input: (options: { readonly target: string }) => Record<string, unknown>;
          readonly output: (options: { readonly target: string }) => Record<string, unknown>;
        }
      | undefined;
  };
}

export type AnySchema = JsonSchema | SchemaLibrarySchema;

export interface RetryDefinition {
  readonly maxAttempts: number;
  readonly backoff?: "fixed" | "exponential" | undefined;
  readonly initialMs?: number | undefined;
}

export interface CostDefinition {
  readonly costClass?: CostClass | undefined;
  readonly costUnitsPerCall?: number | undefined;
  readonly currency?: string | undefined;
}

/** One tool of a driver that serves a contract, and how names are mapped. */
export interface BindingDefinition {
  /** A contract's id, the path of its file, or a handle. */
  readonly tool: string | ToolHandle;
  /** Default: with a handle, versions that are compatible with it; otherwise any. */
  readonly version?: string | undefined;
  readonly schemaNarrowing?:
    | {
        readonly dropInputs?: readonly string[] | undefined;
        readonly dropOutputs?: readonly string[] | undefined;
      }
    | undefined;
  readonly mapping?:
    | Readonly<Record<string, string | { readonly from: string; readonly transform?: string | undefined }>>
    | undefined;
  readonly costOverride?: CostDefinition | undefined;
  readonly timeoutOverrideMs?: number | undefined;
  readonly retryOverride?: RetryDefinition | undefined;
  readonly metadata: JsonObject & {
    readonly mcp: {
      readonly toolName: string;
      readonly argumentMapping?: Readonly<Record<string, string>> | undefined;
      readonly resultExtract?: string | undefined;
    };
  };
}

type McpRemoteAuth =
  | { readonly type: "none" }
  | { readonly type: "bearer"; readonly env: string }
  | { readonly type: "header"; readonly name: string; readonly env: string };

interface Program {
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** The server of a driver: an npm package, an image, a program or a URL. */
export type McpServer =
  | ({ readonly kind: "binary"; readonly path: string } & Program)
  | ({ readonly kind: "npm"; readonly package: string } & Program)
  | ({ readonly kind: "docker"; readonly image: string } & Program)
  | { readonly kind: "remote"; readonly url: string; readonly auth?: McpRemoteAuth | undefined };

export interface McpPrompt {
  readonly name: string;
  readonly description?: string | undefined;
  readonly integrateAs: "skill_block" | "raw";
  readonly skillRef?: string | undefined;
}

export interface McpResource {
  readonly uriTemplate: string;
  readonly description?: string | undefined;
  readonly integrateAs: "ref_kind" | "raw";
  readonly refKindId?: string | undefined;
}

interface HttpDefinition {
  readonly method: "GET" | "POST" | "HEAD";
  readonly url: string;
  readonly expectStatus?: number | undefined;
}

export interface AuthDefinition {
  readonly ref?: string | undefined;
  readonly state?:
    | { readonly paths?: readonly string[] | undefined; readonly env?: readonly string[] | undefined }
    | undefined;
  readonly login?:
    | {
        readonly cmd?: string | undefined;
        readonly url?: string | undefined;
        readonly interactive?: boolean | undefined;
        readonly requiresCallbackUrl?: boolean | undefined;
        readonly completesWhen?:
          | {
              readonly cmd?: string | undefined;
              readonly exitCode?: number | undefined;
              readonly http?: HttpDefinition | undefined;
            }
          | undefined;
      }
    | undefined;
  readonly refresh?:
    | {
        readonly cmd?: string | undefined;
        readonly url?: string | undefined;
        readonly every?: string | undefined;
      }
    | undefined;
  readonly expiry?: { readonly detect: string } | undefined;
}

/** A driver written in code: the fields of a DRIVER.md in camelCase, and hooks. */
export interface McpDriverDefinition extends DriverHooks {
  readonly kind: "mcp";
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Default: 0.0.0. */
  readonly version?: string | undefined;
  readonly implements: readonly BindingDefinition[];
  readonly server: McpServer;
  readonly transport: "stdio" | "sse" | "http";
  readonly protocolVersion?: string | undefined;
  readonly prompts?: readonly McpPrompt[] | undefined;
  readonly resources?: readonly McpResource[] | undefined;
  readonly connectionOptions?:
    | {
        readonly timeout_ms?: number | undefined;
        readonly max_retries?: number | undefined;
        readonly keepalive?: boolean | undefined;
      }
    | undefined;
  readonly install?: readonly JsonObject[] | undefined;
  readonly versionCheck?:
    | {
        readonly cmd: string;
        readonly parse: string;
        readonly range: string;
        readonly timeoutMs?: number | undefined;
      }
    | undefined;
  readonly auth?: AuthDefinition | undefined;
  readonly network?: { readonly egress?: readonly string[] | undefined } | undefined;
  readonly sandbox?: JsonObject | undefined;
  readonly requires?: JsonObject | undefined;
  readonly region?: readonly string[] | undefined;
  readonly policyTags?: readonly string[] | undefined;
  readonly costOverride?: CostDefinition | undefined;
  readonly timeoutOverrideMs?: number | undefined;
  readonly retryOverride?: RetryDefinition | undefined;
  readonly healthCheck?: JsonObject | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** A contract written in code: the fields of a TOOL.md in camelCase. */
export interface ToolContractDefinition {
  readonly id: string;
  readonly name?: string | undefined;
  readonly description: string;
  /** Default: 0.0.0. */
  readonly version?: string | undefined;
  readonly inputSchema: AnySchema;
  readonly outputSchema: AnySchema;
  readonly contextSchema?: AnySchema | undefined;
  readonly mutates?: readonly string[] | undefined;
  readonly requires?: JsonObject | undefined;
  readonly approval?: string | undefined;
  readonly riskLevel?: number | undefined;
  readonly costClass?: CostClass | undefined;
  readonly timeoutMs?: number | undefined;
  readonly retry?: RetryDefinition | undefined;
  readonly idempotent?: boolean | undefined;
  readonly defaultImplementation?: string | undefined;
  readonly driverConstraints?:
    | {
        readonly forbid?: readonly DriverKind[] | undefined;
        readonly requireKind?: readonly DriverKind[] | undefined;
      }
    | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly examples?: readonly JsonObject[] | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** A secret written in code: an entry of a SECRETS.md. */
export interface SecretDefinition {
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly kind?: "opaque" | "oauth" | "keypair" | "json" | undefined;
  readonly backend?: string | undefined;
  readonly access?:
    | Readonly<Partial<Record<"reveal" | "bind" | "rotate", readonly JsonObject[]>>>
    | undefined;
  readonly audit?: JsonObject | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly metadata?: JsonObject | undefined;
}
