// Contracts (TOOL.md), drivers (DRIVER.md) and secret entries (SECRETS.md) as plain data.

import { parseVersion } from "../../base/text/versions.ts";
import type { Json, JsonObject } from "../json/json.ts";
import type { JsonSchema } from "../protocol/mcp.ts";
import type { LaunchSettings, SandboxMode } from "../sandbox/sandbox.ts";
import type { Endpoint, Origin, PinMode } from "./server-definition.ts";

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
  readonly output?: Json;
  readonly note?: string;
}

/** A contract: the interface of a tool, independent of the driver that implements it. */
export interface Contract {
  readonly id: string;
  readonly name: string;
  /** The text is written for the model that calls the tool. */
  readonly description: string;
  readonly version: string;
  readonly inputs: JsonSchema;
  /** Schema of a successful result. */
  readonly outputs: JsonSchema;
  /** Schema of the facts about the caller that the tool needs beside its input. */
  readonly contextSchema?: JsonSchema;
  readonly idempotent: boolean;
  /** Names of the things that a call changes, such as `workspace:files`. */
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
  /** Upper limit. A driver may only set a lower one. */
  readonly timeoutMs: number;
  readonly retry?: RetryRule;
  readonly defaultImplementation?: string;
  readonly driverConstraints: {
    readonly forbid: readonly DriverKind[];
    /** An empty list allows every kind. */
    readonly requireKind: readonly DriverKind[];
  };
  readonly tags: readonly string[];
  readonly examples: readonly ContractExample[];
  readonly metadata: JsonObject;
  /** The places have the keys `default_implementation`, `requires.secrets:<slug>` and `requires.tools:<id>`. */
  readonly origin: DriverOrigin;
}

export interface CostOverride {
  readonly costClass?: CostClass;
  /** The unit is a thousandth of a cent, or of the smallest usual unit of the currency. */
  readonly unitsPerCall?: number;
  readonly currency?: string;
}

/** Source of one argument of the backend. */
export interface MappedFrom {
  readonly from: string;
  readonly transform?: string;
}

/** Position of a part of a config file. */
export type TextPlace = Pick<Origin, "line" | "column">;

export interface DriverOrigin extends Origin {
  /** True for a driver that a program defined: no file contains it. */
  readonly inCode?: boolean;
  /** Positions of the parts that diagnostics may be about, as far as the file has them. */
  readonly places?: Readonly<Record<string, TextPlace>>;
}

/** Fields of a binding that diagnostics may be about. */
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
  /** The path of a TOOL.md or the id of a contract, as written in the file. */
  readonly tool: string;
  /** Versions of the contract that the binding serves, as an npm range. */
  readonly range: string;
  readonly dropInputs: readonly string[];
  readonly dropOutputs: readonly string[];
  /** A text maps a contract input to a backend key. An object maps a backend key from a contract input. */
  readonly mapping: Readonly<Record<string, string | MappedFrom>>;
  readonly cost?: CostOverride;
  readonly timeoutMs?: number;
  readonly retry?: RetryRule;
  /** Name of the MCP tool to call. */
  readonly toolName: string;
  /** Maps contract inputs to MCP arguments. Other inputs pass unchanged. */
  readonly argumentMapping: Readonly<Record<string, string>>;
  /** A path in the JSONPath-lite grammar; `$` is the whole result. */
  readonly resultExtract: string;
  readonly metadata: JsonObject;
  /** The places have the field names of `BindingField` as keys. */
  readonly origin: DriverOrigin;
}

export interface DriverAuth {
  /** The SECRETS.md that lists the secrets the driver needs. */
  readonly ref?: string;
  readonly state?: { readonly paths: readonly string[]; readonly env: readonly string[] };
  readonly login?:
    | {
        readonly command?: string;
        readonly url?: string;
        readonly interactive: boolean;
        readonly requiresCallbackUrl: boolean;
        readonly completesWhen?:
          | {
              readonly command?: string;
              readonly exitCode?: number;
              readonly http?: HttpExpectation;
            }
          | undefined;
      }
    | undefined;
  readonly refresh?:
    | {
        readonly command?: string;
        readonly url?: string;
        readonly everyMs?: number;
      }
    | undefined;
  /** `exit_code:N`, `http_status:N`, `exception:Name`, `header:NAME:VALUE`, or a value that another host defines. */
  readonly expiryDetect?: string;
}

export interface HttpExpectation {
  readonly method: "GET" | "POST" | "HEAD";
  readonly url: string;
  readonly expectStatus?: number;
}

export interface DriverHealthCheck {
  readonly method: "ping" | "exec" | "http" | "noop";
  readonly command?: string;
  readonly expectExit?: number;
  readonly http?: HttpExpectation;
  readonly everyMs?: number;
  readonly timeoutMs: number;
}

export type DriverPrompt = {
  readonly name: string;
  readonly description?: string;
} & ({ readonly integrateAs: "skill_block"; readonly skillRef: string } | { readonly integrateAs: "raw" });

export type DriverResource = {
  readonly uriTemplate: string;
  readonly description?: string;
} & ({ readonly integrateAs: "ref_kind"; readonly refKindId: string } | { readonly integrateAs: "raw" });

/** Arguments and environment of a local server. */
type DriverProgram = {
  readonly args: readonly string[];
  /** Values may hold `${secrets.NAME}`. */
  readonly env: Readonly<Record<string, string>>;
};

/** How Portolan logs in to a remote server, as `auth` of a server in portolan.yaml. Empty: by a login, where the server asks for one. */
export interface DriverServerAuth {
  readonly token?: string;
  readonly header?: string;
  readonly key?: string;
  readonly grant?: "authorization_code" | "client_credentials";
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly privateKey?: string;
  readonly algorithm?: string;
  readonly clientMetadataUrl?: string;
  readonly issuer?: string;
  readonly scopes?: readonly string[];
  readonly account?: string;
  readonly redirectUri?: string;
}

/** The `server` section of a DRIVER.md as written. `portolan diff` compares it between two versions of a driver. */
export type DriverServer =
  | ({ readonly kind: "binary"; readonly path: string } & DriverProgram)
  | ({ readonly kind: "npm"; readonly package: string } & DriverProgram)
  | ({
      readonly kind: "docker";
      readonly image: string;
      /** For HTTP: the port inside of the container, and the path of the endpoint. */
      readonly port?: number;
      readonly path?: string;
    } & DriverProgram)
  | {
      readonly kind: "remote";
      readonly url: string;
      /** Values may hold `${secrets.NAME}`. */
      readonly headers?: Readonly<Record<string, string>>;
      readonly auth?: DriverServerAuth;
    };

/** A driver: a DRIVER.md of kind `mcp`. */
export interface Driver {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Version of the DRIVER.md, not of the server. */
  readonly version: string;
  readonly kind: "mcp";
  readonly implements: readonly Binding[];
  readonly server: DriverServer;
  readonly transport: "stdio" | "sse" | "http";
  /** Strings may hold `${secrets.NAME}`, in the environment only. */
  readonly endpoint: Endpoint;
  readonly launch: LaunchSettings;
  /** A published revision. Without it, both sides negotiate one. */
  readonly protocolVersion?: string;
  readonly prompts: readonly DriverPrompt[];
  /** Names of the skills by `skill_ref`, set once the skills are read. Null means that the skill cannot be read; its prompts are not offered. */
  readonly skills?: Readonly<Record<string, string | null>>;
  readonly resources: readonly DriverResource[];
  readonly connection: {
    readonly timeoutMs?: number;
    readonly maxRetries?: number;
    readonly keepalive?: boolean;
  };
  readonly auth?: DriverAuth;
  readonly region: readonly string[];
  readonly policyTags: readonly string[];
  readonly cost?: CostOverride;
  readonly timeoutMs?: number;
  readonly retry?: RetryRule;
  readonly healthCheck?: DriverHealthCheck;
  readonly tags: readonly string[];
  readonly metadata: JsonObject;
  /** The server of portolan.yaml whose package brought the driver. Its settings, sandbox and pins are those of that server. */
  readonly packaged?: { readonly server: string; readonly pins?: PinMode };
  /** The places have the keys `prompt:<name>`, `skill_ref:<name of the prompt>`, `resource:<template>`, `ref_kind:<id>` and `secret:<NAME>`. */
  readonly origin: DriverOrigin;
}

export type SecretOperation = "reveal" | "bind" | "rotate";

/** Party that may use a secret. */
export type SecretGrant =
  | { readonly role: string }
  | { readonly userId: string }
  | { readonly cap: string }
  | { readonly tool: string }
  | { readonly workflow: string };

/** One entry of a SECRETS.md: the name of a secret and its access rules. It never contains the value. */
export interface SecretEntry {
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly kind: "opaque" | "oauth" | "keypair" | "json";
  readonly backend?: string;
  readonly access: Readonly<Record<SecretOperation, readonly SecretGrant[]>>;
  /** Names of environment variables for the secret, beside the one derived from the slug. */
  readonly envNames: readonly string[];
  readonly tags: readonly string[];
  readonly metadata: JsonObject;
  readonly origin: Origin;
  /** The id of the only driver that may use the secret, because the entry came with that driver. Without it, any driver may. */
  readonly driver?: string;
}

/** Source of the value of one environment variable, as written in a manifest. */
export interface SecretConsumer {
  readonly env: string;
  readonly from: { readonly vault: string } | { readonly oauth: string } | { readonly value: string };
}

/** The codes of failed contract calls, as the format defines them. */
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

/** The error of a contract call. */
export interface DriverError {
  readonly code: DriverErrorCode | `${string}:${string}`;
  readonly message: string;
  readonly retryable?: boolean;
  /** Milliseconds until the call is possible again, if a budget refused it. */
  readonly retryAfterMs?: number;
  /** Name of the wrong input. */
  readonly field?: string;
  readonly cause?: unknown;
}

/** The outcome of a contract call: a value, or an error. */
export type DriverResult<T> =
  | { readonly ok: true; readonly value: T; readonly ms: number }
  | { readonly ok: false; readonly error: DriverError; readonly ms: number };

/** Policy of a workspace for contracts. It overrides what drivers say about themselves. */
export interface ContractPolicy {
  /** A driver needs at least one of these tags. Without the list, any driver may serve. */
  readonly allowTags?: readonly string[];
  /** A driver with one of these tags never serves. */
  readonly denyTags?: readonly string[];
  /** Region that data may not leave, in addition to the region that a call names. */
  readonly region?: string;
  /** If true, a driver of region `global` does not match a specific region. */
  readonly strictRegion?: boolean;
  /** Required approval. The stricter one of this and of the contract's own applies. */
  readonly approval?: "auto" | "on-mutate" | "always";
  /** Calls of this risk level and above need approval. */
  readonly approveFromRisk?: number;
  /** Decides about calls that need approval when no one can give it. The default is `refuse`. */
  readonly unattended?: "refuse" | "allow";
  /** If true, an idempotent call goes to the next driver after a transient error. The default is false. */
  readonly fallback?: boolean;
  /** Sandbox modes of the servers of drivers, by driver id. */
  readonly sandbox?: Readonly<Record<string, SandboxMode>>;
}

/** A driver of a workspace. */
export interface ConfiguredDriver {
  readonly driver: Driver;
  /** Path of the module beside the DRIVER.md that adds code to the driver. */
  readonly entry?: string;
  /** Hash of the module, so that a changed module is a changed driver. */
  readonly entryHash?: string;
  /** Text of the DRIVER.md, set if there is a module. The fields that the module defines are merged into it. */
  readonly source?: DriverSource;
}

export interface DriverSource {
  readonly text: string;
  /** The `server.json` beside the DRIVER.md. */
  readonly serverJson?: { readonly text: string; readonly file: string };
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
