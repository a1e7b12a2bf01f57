// Types of definitions in code: the fields of the files in camelCase, with schemas as JSON Schema or of a schema library.

import type { CostClass, DriverKind, DriverServerAuth, JsonObject, JsonSchema } from "../../model/index.ts";
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
  readonly backoff?: "fixed" | "exponential";
  readonly initialMs?: number;
}

export interface CostDefinition {
  readonly costClass?: CostClass;
  readonly costUnitsPerCall?: number;
  readonly currency?: string;
}

/** One tool of a driver that serves a contract, and how names are mapped. */
export interface BindingDefinition {
  /** A contract's id, the path of its file, or a handle. */
  readonly tool: string | ToolHandle;
  /** Default: with a handle, versions that are compatible with it; otherwise any. */
  readonly version?: string;
  readonly schemaNarrowing?:
    | {
        readonly dropInputs?: readonly string[];
        readonly dropOutputs?: readonly string[];
      }
    | undefined;
  readonly mapping?:
    | Readonly<Record<string, string | { readonly from: string; readonly transform?: string }>>
    | undefined;
  readonly costOverride?: CostDefinition;
  readonly timeoutOverrideMs?: number;
  readonly retryOverride?: RetryDefinition;
  readonly metadata: JsonObject & {
    readonly mcp: {
      readonly toolName: string;
      readonly argumentMapping?: Readonly<Record<string, string>>;
      readonly resultExtract?: string;
    };
  };
}

interface Program {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The server of a driver: an npm package, an image, a program or a URL. */
export type McpServer =
  | ({ readonly kind: "binary"; readonly path: string } & Program)
  | ({ readonly kind: "npm"; readonly package: string } & Program)
  | ({ readonly kind: "docker"; readonly image: string } & Program)
  | { readonly kind: "remote"; readonly url: string; readonly auth?: DriverServerAuth };

export interface McpPrompt {
  readonly name: string;
  readonly description?: string;
  readonly integrateAs: "skill_block" | "raw";
  readonly skillRef?: string;
}

export interface McpResource {
  readonly uriTemplate: string;
  readonly description?: string;
  readonly integrateAs: "ref_kind" | "raw";
  readonly refKindId?: string;
}

interface HttpDefinition {
  readonly method: "GET" | "POST" | "HEAD";
  readonly url: string;
  readonly expectStatus?: number;
}

export interface AuthDefinition {
  readonly ref?: string;
  readonly state?: { readonly paths?: readonly string[]; readonly env?: readonly string[] };
  readonly login?:
    | {
        readonly cmd?: string;
        readonly url?: string;
        readonly interactive?: boolean;
        readonly requiresCallbackUrl?: boolean;
        readonly completesWhen?:
          | {
              readonly cmd?: string;
              readonly exitCode?: number;
              readonly http?: HttpDefinition;
            }
          | undefined;
      }
    | undefined;
  readonly refresh?:
    | {
        readonly cmd?: string;
        readonly url?: string;
        readonly every?: string;
      }
    | undefined;
  readonly expiry?: { readonly detect: string };
}

/** A driver written in code: the fields of a DRIVER.md in camelCase, and hooks. */
export interface McpDriverDefinition extends DriverHooks {
  readonly kind: "mcp";
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Default: 0.0.0. */
  readonly version?: string;
  readonly implements: readonly BindingDefinition[];
  readonly server: McpServer;
  readonly transport: "stdio" | "sse" | "http";
  readonly protocolVersion?: string;
  readonly prompts?: readonly McpPrompt[];
  readonly resources?: readonly McpResource[];
  readonly connectionOptions?:
    | {
        readonly timeout_ms?: number;
        readonly max_retries?: number;
        readonly keepalive?: boolean;
      }
    | undefined;
  readonly install?: readonly JsonObject[];
  readonly versionCheck?:
    | {
        readonly cmd: string;
        readonly parse: string;
        readonly range: string;
        readonly timeoutMs?: number;
      }
    | undefined;
  readonly auth?: AuthDefinition;
  readonly network?: { readonly egress?: readonly string[] };
  readonly sandbox?: JsonObject;
  readonly requires?: JsonObject;
  readonly region?: readonly string[];
  readonly policyTags?: readonly string[];
  readonly costOverride?: CostDefinition;
  readonly timeoutOverrideMs?: number;
  readonly retryOverride?: RetryDefinition;
  readonly healthCheck?: JsonObject;
  readonly tags?: readonly string[];
  readonly metadata?: JsonObject;
}

/** A contract written in code: the fields of a TOOL.md in camelCase. */
export interface ToolContractDefinition {
  readonly id: string;
  readonly name?: string;
  readonly description: string;
  /** Default: 0.0.0. */
  readonly version?: string;
  readonly inputSchema: AnySchema;
  readonly outputSchema: AnySchema;
  readonly contextSchema?: AnySchema;
  readonly mutates?: readonly string[];
  readonly requires?: JsonObject;
  readonly approval?: string;
  readonly riskLevel?: number;
  readonly costClass?: CostClass;
  readonly timeoutMs?: number;
  readonly retry?: RetryDefinition;
  readonly idempotent?: boolean;
  readonly defaultImplementation?: string;
  readonly driverConstraints?:
    | {
        readonly forbid?: readonly DriverKind[];
        readonly requireKind?: readonly DriverKind[];
      }
    | undefined;
  readonly tags?: readonly string[];
  readonly examples?: readonly JsonObject[];
  readonly metadata?: JsonObject;
}

/** A secret written in code: an entry of a SECRETS.md. */
export interface SecretDefinition {
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly kind?: "opaque" | "oauth" | "keypair" | "json";
  readonly backend?: string;
  readonly access?:
    | Readonly<Partial<Record<"reveal" | "bind" | "rotate", readonly JsonObject[]>>>
    | undefined;
  readonly audit?: JsonObject;
  readonly tags?: readonly string[];
  readonly metadata?: JsonObject;
}
