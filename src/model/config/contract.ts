// Contracts and drivers: what a tool promises whoever implements it, and how one MCP server keeps the promise. Plain data.

import { parseVersion } from "../semver.ts";
import type { Json, JsonObject } from "../json/json.ts";
import type { JsonSchema } from "../protocol/mcp.ts";
import type { LaunchSettings, SandboxMode } from "../sandbox/sandbox.ts";
import type { Endpoint, Origin } from "./server-definition.ts";

export type DriverKind = "cli" | "http" | "mcp" | "sdk" | "builtin";
export type CostClass = "trivial" | "metered" | "expensive";

export interface RetryRule {
  readonly maxAttempts: number;
  readonly backoff: "fixed" | "exponential";
  readonly initialMs: number;
}

export interface ContractExample {
  readonly name: string;
  readonly input: JsonObject;
  readonly output?: Json | undefined;
  readonly note?: string | undefined;
}

/** What a TOOL.md promises. */
export interface Contract {
  readonly id: string;
  readonly name: string;
  /** Addressed to the model that calls it. */
  readonly description: string;
  readonly version: string;
  readonly inputs: JsonSchema;
  /** What a success looks like. */
  readonly outputs: JsonSchema;
  /** What must be known of the caller, beside the input. */
  readonly contextSchema?: JsonSchema | undefined;
  readonly idempotent: boolean;
  /** What it changes, such as `workspace:files`. */
  readonly mutates: readonly string[];
  readonly requires: {
    readonly network: readonly string[];
    readonly secrets: readonly string[];
    readonly tools: readonly string[];
  };
  /** `auto`, `always`, `on-mutate`, or `policy:<name>`. */
  readonly approval: string;
  readonly riskLevel: number;
  readonly costClass: CostClass;
  /** The ceiling; a driver may only take less. */
  readonly timeoutMs: number;
  readonly retry?: RetryRule | undefined;
  readonly defaultImplementation?: string | undefined;
  readonly driverConstraints: {
    readonly forbid: readonly DriverKind[];
    /** Empty: any. */
    readonly requireKind: readonly DriverKind[];
  };
  readonly tags: readonly string[];
  readonly examples: readonly ContractExample[];
  readonly metadata: JsonObject;
  /** Its places are those of `default_implementation`, `requires.secrets:<slug>` and `requires.tools:<id>`. */
  readonly origin: DriverOrigin;
}

export interface CostOverride {
  readonly costClass?: CostClass | undefined;
  /** In thousandths of a cent, or of the currency's smallest usual unit. */
  readonly unitsPerCall?: number | undefined;
  readonly currency?: string | undefined;
}

/** Where an argument of the backend comes from. */
export interface MappedFrom {
  readonly from: string;
  readonly transform?: string | undefined;
}

/** How one driver's MCP tool serves one contract. */
/** Where something stands in the file that declares it. */
export type TextPlace = Pick<Origin, "line" | "column">;

export interface DriverOrigin extends Origin {
  /** Of parts that problems may be about, those that are written. */
  readonly places?: Readonly<Record<string, TextPlace>> | undefined;
}

/** The fields of a binding that problems are about. */
export type BindingField =
  | "argument_mapping"
  | "mapping"
  | "result_extract"
  | "drop_inputs"
  | "drop_outputs"
  | "tool_name"
  | "timeout_override_ms"
  | "version";

export interface Binding {
  /** As written: the path of a TOOL.md, or a contract's id. */
  readonly tool: string;
  /** The contract's versions that it serves, as npm writes ranges. */
  readonly range: string;
  readonly dropInputs: readonly string[];
  readonly dropOutputs: readonly string[];
  /** Contract input to backend key (a text), or backend key from contract input (an object). */
  readonly mapping: Readonly<Record<string, string | MappedFrom>>;
  readonly cost?: CostOverride | undefined;
  readonly timeoutMs?: number | undefined;
  readonly retry?: RetryRule | undefined;
  /** The MCP tool to call. */
  readonly toolName: string;
  /** Contract input to MCP argument; what is not named passes unchanged. */
  readonly argumentMapping: Readonly<Record<string, string>>;
  /** JSONPath-lite; `$` is all of it. */
  readonly resultExtract: string;
  readonly metadata: JsonObject;
  /** Its places are those of its fields, by `BindingField`. */
  readonly origin: DriverOrigin;
}

export interface DriverAuth {
  /** The SECRETS.md that lists what it needs. */
  readonly ref?: string | undefined;
  readonly state?: { readonly paths: readonly string[]; readonly env: readonly string[] } | undefined;
  readonly login?:
    | {
        readonly command?: string | undefined;
        readonly url?: string | undefined;
        readonly interactive: boolean;
        readonly requiresCallbackUrl: boolean;
        readonly completesWhen?:
          | {
              readonly command?: string | undefined;
              readonly exitCode?: number | undefined;
              readonly http?: HttpExpectation | undefined;
            }
          | undefined;
      }
    | undefined;
  readonly refresh?:
    | {
        readonly command?: string | undefined;
        readonly url?: string | undefined;
        readonly everyMs?: number | undefined;
      }
    | undefined;
  /** `exit_code:N`, `http_status:N`, `exception:Name`, `header:NAME:VALUE`, or words of a host. */
  readonly expiryDetect?: string | undefined;
}

export interface HttpExpectation {
  readonly method: "GET" | "POST" | "HEAD";
  readonly url: string;
  readonly expectStatus?: number | undefined;
}

export interface DriverHealthCheck {
  readonly method: "ping" | "exec" | "http" | "noop";
  readonly command?: string | undefined;
  readonly expectExit?: number | undefined;
  readonly http?: HttpExpectation | undefined;
  readonly everyMs?: number | undefined;
  readonly timeoutMs: number;
}

export type DriverPrompt = {
  readonly name: string;
  readonly description?: string | undefined;
} & ({ readonly integrateAs: "skill_block"; readonly skillRef: string } | { readonly integrateAs: "raw" });

export type DriverResource = {
  readonly uriTemplate: string;
  readonly description?: string | undefined;
} & ({ readonly integrateAs: "ref_kind"; readonly refKindId: string } | { readonly integrateAs: "raw" });

/** What a local server is started with. */
interface DriverProgram {
  readonly args: readonly string[];
  /** Values may hold `${secrets.NAME}`. */
  readonly env: Readonly<Record<string, string>>;
}

/** Which secret is sent to a remote server, and in which header. */
export type DriverServerAuth =
  | { readonly type: "none" }
  | { readonly type: "bearer"; readonly env: string }
  | { readonly type: "header"; readonly name: string; readonly env: string };

/** The server as it is written: where it comes from, for comparing two versions of a driver, and what it is started with. */
export type DriverServer =
  | ({ readonly kind: "binary"; readonly path: string } & DriverProgram)
  | ({ readonly kind: "npm"; readonly package: string } & DriverProgram)
  | ({
      readonly kind: "docker";
      readonly image: string;
      /** For http: the port inside of the container, and the path that is asked for. */
      readonly port?: number | undefined;
      readonly path?: string | undefined;
    } & DriverProgram)
  | {
      readonly kind: "remote";
      readonly url: string;
      /** Values may hold `${secrets.NAME}`. */
      readonly headers?: Readonly<Record<string, string>> | undefined;
      readonly auth?: DriverServerAuth | undefined;
    };

/** What a DRIVER.md of kind `mcp` declares. */
export interface Driver {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Of the declaration, not of the server. */
  readonly version: string;
  readonly kind: "mcp";
  readonly implements: readonly Binding[];
  readonly server: DriverServer;
  readonly transport: "stdio" | "sse" | "http";
  /** Strings may hold `${secrets.NAME}`, in the environment only. */
  readonly endpoint: Endpoint;
  readonly launch: LaunchSettings;
  /** A published revision, or none: whichever both sides know. */
  readonly protocolVersion?: string | undefined;
  readonly prompts: readonly DriverPrompt[];
  /** The skills' own names, by `skill_ref`, once they were read; null: there is none to be read, and its prompts are not offered. */
  readonly skills?: Readonly<Record<string, string | null>> | undefined;
  readonly resources: readonly DriverResource[];
  readonly connection: {
    readonly timeoutMs?: number | undefined;
    readonly maxRetries?: number | undefined;
    readonly keepalive?: boolean | undefined;
  };
  readonly auth?: DriverAuth | undefined;
  readonly region: readonly string[];
  readonly policyTags: readonly string[];
  readonly cost?: CostOverride | undefined;
  readonly timeoutMs?: number | undefined;
  readonly retry?: RetryRule | undefined;
  readonly healthCheck?: DriverHealthCheck | undefined;
  readonly tags: readonly string[];
  readonly metadata: JsonObject;
  /** Its places are those of `prompt:<name>`, `skill_ref:<name of the prompt>`, `resource:<template>`, `ref_kind:<id>` and `secret:<NAME>`. */
  readonly origin: DriverOrigin;
}

export type SecretOperation = "reveal" | "bind" | "rotate";

/** Who may have a secret; exactly one of these. */
export type SecretGrant =
  | { readonly role: string }
  | { readonly userId: string }
  | { readonly cap: string }
  | { readonly tool: string }
  | { readonly workflow: string };

/** One entry of a SECRETS.md: that there is a secret, and who may have it. Never its value. */
export interface SecretEntry {
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly kind: "opaque" | "oauth" | "keypair" | "json";
  readonly backend?: string | undefined;
  readonly access: Readonly<Record<SecretOperation, readonly SecretGrant[]>>;
  /** Names by which programs ask for it, beside the one that follows from the slug. */
  readonly envNames: readonly string[];
  readonly tags: readonly string[];
  readonly metadata: JsonObject;
  readonly origin: Origin;
  /** The id of the only driver that it serves: one that brought its own inventory. Absent: any driver. */
  readonly driver?: string | undefined;
}

/** Where a program's variable gets its value from, as a manifest says it. */
export interface SecretConsumer {
  readonly env: string;
  readonly from: { readonly vault: string } | { readonly oauth: string } | { readonly value: string };
}

export type DriverErrorCode =
  | "auth_required"
  | "auth_failed"
  | "version_mismatch"
  | "install_failed"
  | "tool_unavailable"
  | "execute_binding_mismatch"
  | "input_unsupported"
  | "policy_violation"
  | "region_mismatch"
  | "pinned_provider_unavailable"
  | "output_parse_failed"
  | "cancelled"
  | "timeout"
  | "internal"
  | "input_invalid"
  | "unauthorised"
  | "not_found"
  | "rate_limited"
  | "upstream_error"
  | "no_route";

export interface DriverError {
  readonly code: DriverErrorCode | `${string}:${string}`;
  readonly message: string;
  readonly retryable?: boolean | undefined;
  /** The input that is wrong. */
  readonly field?: string | undefined;
  readonly cause?: unknown;
}

export type DriverResult<T> =
  | { readonly ok: true; readonly value: T; readonly ms: number }
  | { readonly ok: false; readonly error: DriverError; readonly ms: number };

/** What a workspace allows, whatever drivers say about themselves. */
export interface ContractPolicy {
  /** A driver needs at least one of these tags; without the list, any driver may serve. */
  readonly allowTags?: readonly string[] | undefined;
  /** A driver with one of these never serves. */
  readonly denyTags?: readonly string[] | undefined;
  /** Where data may go, beside what a call asks for. */
  readonly region?: string | undefined;
  /** A driver that is `global` is not in any region. */
  readonly strictRegion?: boolean | undefined;
  /** Approval that is asked for beyond what contracts say; the stricter one holds. */
  readonly approval?: "auto" | "on-mutate" | "always" | undefined;
  /** From this risk level on every call is approved first. */
  readonly approveFromRisk?: number | undefined;
  /** What happens to a call that needs approval where nobody can give it. Default: it is refused. */
  readonly unattended?: "refuse" | "allow" | undefined;
  /** After a driver has failed with an error that may pass, an idempotent call may go to the next one. Default: never. */
  readonly fallback?: boolean | undefined;
  /** How strictly the server of a driver is boxed, by the driver's id. */
  readonly sandbox?: Readonly<Record<string, SandboxMode>> | undefined;
}

/** A driver of a workspace. */
export interface DeclaredDriver {
  readonly driver: Driver;
  /** The module beside its file, which adds code to it. */
  readonly entry?: string | undefined;
  /** The file as it was read, where there is such a module: what only the module says is put into it. */
  readonly source?: DriverSource | undefined;
}

export interface DriverSource {
  readonly text: string;
  /** The `server.json` beside it. */
  readonly serverJson?: { readonly text: string; readonly file: string } | undefined;
}

/** Returns `id@major`, the name that all compatible versions of a contract or driver share. */
export function majorKey({ id, version }: { readonly id: string; readonly version: string }): string {
  return `${id}@${parseVersion(version)?.major ?? version}`;
}

/** Returns true if `name` is the id, or the id with the major version, of this contract or driver. */
export function isNamed(one: { readonly id: string; readonly version: string }, name: string): boolean {
  return one.id === name || majorKey(one) === name;
}

/** Returns the id of an `id@major`. A name without a major version is an id already. */
export function idIn(name: string): string {
  return name.replace(/@\d+$/, "");
}
