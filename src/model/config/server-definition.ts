// Server definitions and server configs: endpoint, era, limits and settings of one server, independent of the config file format.

import type { Contract, ContractPolicy, ConfiguredDriver, SecretEntry } from "./contract.ts";
import type { InvokedServer } from "./invoked-server.ts";
import type { OAuthSettings } from "./server-auth.ts";
import type { LaunchSettings } from "../sandbox/sandbox.ts";

/** A command line. It may run a package (`npx`) or an image (`docker run`), which `parseProgram` recognises. */
interface CommandProgram {
  readonly kind?: "command";
  readonly command: string;
}

/** A package of npm, which Portolan installs itself. */
interface NpmProgram {
  readonly kind: "npm";
  /** The name, and a version, range or tag: `@scope/name@^1`. */
  readonly package: string;
  /** The program of the package, if it has several. */
  readonly bin?: string;
  /** The hash that the package must have, as SRI. */
  readonly integrity?: string;
  /** The packages that it is installed with, as the lock file lists them. Only with `integrity`. */
  readonly dependencies?: readonly string[];
}

/** A container image. It gets the variables of `env`. */
interface ImageProgram {
  readonly kind: "image";
  readonly image: string;
}

/** A package of a registry, or a bundle. The lock file says what it is; `packages/` finds its program at the start. */
interface PackageProgram {
  readonly kind: "package";
  /** A name and a range, or `mcpb:` with a file or URL; `parsePackageReference` reads it. */
  readonly package: string;
  /** The lock file, and the name of the server in it. */
  readonly lock: { readonly file: string; readonly server: string };
}

/** The program of a server that runs on this machine, as its config names it. */
export type LocalProgram = (CommandProgram | NpmProgram | ImageProgram | PackageProgram) & {
  readonly args?: readonly string[];
  /** Variables that are added to a minimal environment. The server does not get the rest of this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
};

export type StdioEndpoint = LocalProgram & { readonly transport: "stdio" };

/** A local program that serves MCP over HTTP. It starts before the connection and stops with it. */
export type HttpProgram = LocalProgram & {
  /** Port inside of the container. The port on this machine is chosen at the start. */
  readonly port: number;
};

export interface UrlEndpoint {
  /** `http` is Streamable HTTP with the fallback to HTTP+SSE that the specification describes. */
  readonly transport: "http" | "sse" | "websocket";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** How to log in. Without it, a login that somebody made is used. */
  readonly auth?: OAuthSettings;
  /** Local program that serves the URL. The port of the URL is set when it runs. */
  readonly program?: HttpProgram;
}

/** Endpoint of a server that speaks MCP. */
export type Endpoint = StdioEndpoint | UrlEndpoint;

/** An mcpfile server, whose tools Portolan runs itself. */
export interface InvokeEndpoint {
  readonly transport: "invoke";
  readonly server: InvokedServer;
}

/** The contracts of a workspace as one server. The router chooses a driver for each call. */
export interface ContractsEndpoint {
  readonly transport: "contracts";
  readonly contracts: readonly Contract[];
  readonly drivers: readonly ConfiguredDriver[];
  readonly secrets: readonly SecretEntry[];
  readonly policy: ContractPolicy;
  /** Folder that paths of contracts are relative to. */
  readonly root: string;
}

export type ConfiguredEndpoint = Endpoint | InvokeEndpoint | ContractsEndpoint;

/** Protocol era of a server: negotiated (`auto`) or fixed. */
export type EraPin = "auto" | "legacy" | "modern";

/** Timeouts and sizes of a connection; docs/reference/limits.md has the defaults. */
export interface Limits {
  /** Time from the start to the end of the negotiation. */
  readonly startTimeoutMs: number;
  /** A request fails after this time without a response or progress. */
  readonly requestTimeoutMs: number;
  /** A request fails after this time, even if it reports progress. */
  readonly maxRequestMs: number;
  /** Time until a stdio or WebSocket server that does not answer the era probe also gets a legacy `initialize`. */
  readonly probeTimeoutMs: number;
  /** Size of the largest message accepted from the server, in bytes. */
  readonly maxMessageBytes: number;
  /** Number of bytes that may be queued for a server that does not read. */
  readonly maxQueuedBytes: number;
  /** Number of rounds of server requests in one modern request. */
  readonly maxInputRounds: number;
  /** Number of pages that are read of one list. */
  readonly maxPages: number;
}

export const DEFAULT_LIMITS: Limits = {
  startTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  maxRequestMs: 3_600_000,
  probeTimeoutMs: 3_000,
  maxMessageBytes: 10 * 1024 * 1024,
  maxQueuedBytes: 32 * 1024 * 1024,
  maxInputRounds: 10,
  maxPages: 1_000,
};

export interface ServerDefinition {
  /** Name of the server in errors, logs and lists. */
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly era: EraPin;
  /** Revision that is offered first. The default is the newest one of the era. */
  readonly revision?: string;
  readonly limits: Limits;
  /** Installation and sandbox of a local program. The default is the default profile. */
  readonly launch?: LaunchSettings;
  /** Folders that the caller grants, as absolute paths. */
  readonly roots?: readonly string[];
}

/** Position in a config file. Lines and columns count from 1. */
export interface Origin {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Format of the config file, such as "manifest" or "claude-code". */
  readonly format: string;
}

/** Resources of a server that are read into the context of an agent, and their size limit. */
export interface ContextRule {
  /** A resource URI or a pattern with `*`. */
  readonly uri: string;
  readonly maxBytes: number;
}

/** Server config: one server of a config file. The endpoint may contain references such as `${NAME}`, which are resolved at the start. */
export interface ServerConfig {
  /** Name of the server in logs and prefix of its tools. It is unique in a workspace. */
  readonly alias: string;
  readonly origin: Origin;
  readonly endpoint: ConfiguredEndpoint;
  readonly enabled: boolean;
  readonly era?: EraPin;
  readonly limits?: Partial<Limits>;
  /** Eager servers start with the workspace, lazy ones with the first call. */
  readonly start?: "eager" | "lazy";
  /** An unused server stops after this time. */
  readonly idleStopMs?: number;
  /** Tools to offer, by the server's own names or patterns with `*`. `blockTools` overrides `allowTools`. */
  readonly allowTools?: readonly string[];
  readonly blockTools?: readonly string[];
  /** Prefix of descriptions: `[MCP: alias]`, or this text. */
  readonly descriptionPrefix?: boolean | string;
  /** Offer the server's resources as tools. */
  readonly resourceTools?: boolean;
  /** Offer the server's prompts as tools. */
  readonly promptTools?: boolean;
  readonly context?: readonly ContextRule[];
  readonly tags?: readonly string[];
  /** Size of the largest result that the gateway passes on whole; 0 means no limit. */
  readonly maxResultBytes?: number;
  /** False: servers with an identical definition do not share its process or connection. */
  readonly shared?: boolean;
  /** Number of dedicated processes at the gateway, for servers that send server requests. */
  readonly lanes?: number;
  /** Installation and sandbox of the program. */
  readonly launch?: LaunchSettings;
  /** Steps of the config file that a person must do before the server works. Errors of its start show them. */
  readonly setup?: string;
  /** How its tools are compared with the lock file. Default: enforced if the lock file has pins of this server. */
  readonly pins?: PinMode;
}

/**
 * `enforce` withholds tools whose definition nobody approved, `warn` only reports them, `off` compares nothing. The
 * approved definitions (pins) are in the lock file.
 */
export type PinMode = "enforce" | "warn" | "off";
