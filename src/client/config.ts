// Validates the config of `connectMcp()` and converts it to a server definition.

import { resolve } from "node:path";
import { HTTP_SCHEMES, isWebSocketUrl, WEBSOCKET_SCHEMES } from "../base/net/urls.ts";
import { type Diagnostic, didYouMean, hintOf, PortolanError, problemsOf } from "../errors/index.ts";
import {
  DEFAULT_LIMITS,
  type Endpoint,
  isObject,
  type LaunchSettings,
  type Limits,
  type SandboxConfig,
  type ServerDefinition,
  toCommandLine,
} from "../model/index.ts";
import { tokenHeaders } from "./auth.ts";
import { ANY_CONFIG, configProblems, HTTP_CONFIG, kindOf, STDIO_CONFIG } from "./options.ts";
import type { McpConfig, McpHttpConfig, McpStdioConfig } from "./types.ts";

const PROTOCOLS: ReadonlyMap<string, readonly string[]> = new Map([
  ["http", HTTP_SCHEMES],
  ["sse", HTTP_SCHEMES],
  ["websocket", WEBSOCKET_SCHEMES],
]);

/** A config whose transport is known. */
export type TransportConfig =
  | (McpStdioConfig & { transport: "stdio" })
  | (McpHttpConfig & { transport: "http" | "sse" | "websocket" });

/** Adds the default transport. A config without command and url is returned unchanged; `toServerDefinition()` refuses it. */
export function withTransport(config: McpConfig): TransportConfig {
  const transport = isObject(config) ? (config.transport ?? defaultTransport(config)) : undefined;
  return (transport === undefined ? config : { ...config, transport }) as TransportConfig;
}

function defaultTransport({ command, url }: { command?: unknown; url?: unknown }): string | undefined {
  if (command !== undefined) return "stdio";
  if (url === undefined) return undefined;
  return typeof url === "string" && isWebSocketUrl(url) ? "websocket" : "http";
}

export function toServerDefinition(config: TransportConfig): ServerDefinition {
  const inTable = !isObject(config)
    ? []
    : config.transport === "stdio"
      ? configProblems(config, STDIO_CONFIG, { table: HTTP_CONFIG, transport: "http, sse or websocket" })
      : PROTOCOLS.has(config.transport)
        ? configProblems(config, HTTP_CONFIG, { table: STDIO_CONFIG, transport: "stdio" })
        : problemsOf(config, ANY_CONFIG);
  const problems = inTable.map(({ message }) => message);
  const endpoint = readEndpoint(config, problems);
  const limits = readLimits(config?.limits, problems);
  const era = config?.era ?? "auto";
  if (era !== "auto" && era !== "legacy" && era !== "modern")
    problems.push('era must be "auto", "legacy" or "modern"');
  if (config?.name !== undefined && typeof config.name !== "string") problems.push("name must be a string");
  if (config?.signal !== undefined && !(config.signal instanceof AbortSignal))
    problems.push("signal must be an AbortSignal");
  if (endpoint === undefined || problems.length > 0) {
    throw new PortolanError(
      "CONFIG_INVALID",
      `the server's configuration is not valid: ${problems.join("; ")}`,
      {
        server: config?.name,
        hint: hintOf(inTable),
        data: { problems },
      },
    );
  }
  const launch = config.transport === "stdio" ? toLaunch(config) : undefined;
  return { name: config.name ?? defaultName(endpoint), endpoint, era, limits, launch };
}

function toLaunch({ sandbox, cwd }: McpStdioConfig): LaunchSettings {
  return { sandbox: toSandbox(sandbox), cwdImplied: cwd === undefined };
}

export function toSandbox(sandbox: McpStdioConfig["sandbox"]): SandboxConfig | undefined {
  if (sandbox === false) return { mode: "off" };
  return typeof sandbox === "string" ? { mode: sandbox } : sandbox;
}

function readEndpoint(config: TransportConfig, problems: string[]): Endpoint | undefined {
  if (!isObject(config)) {
    problems.push("the config must be an object");
    return undefined;
  }
  if (config.transport === "stdio") {
    const { command, args, env, cwd } = config;
    if (typeof command !== "string" || command === "") problems.push("command must be the name of a program");
    else if (command.includes("\0")) problems.push("command must not contain NUL");
    if (
      args !== undefined &&
      !(Array.isArray(args) && args.every((arg) => typeof arg === "string" && !arg.includes("\0")))
    ) {
      problems.push("args must be a list of strings without NUL");
    }
    problems.push(...mapProblems(env, "env"));
    if (cwd !== undefined && typeof cwd !== "string") problems.push("cwd must be the path of a folder");
    // The sandbox needs an absolute path, and the program can change its working folder later.
    return {
      transport: "stdio",
      command,
      args,
      env,
      cwd: typeof cwd === "string" ? resolve(cwd) : undefined,
    };
  }
  const protocols = PROTOCOLS.get(config.transport);
  if (protocols === undefined) {
    if (config.transport === undefined) problems.push("the config must have a command or a url");
    else problems.push('transport must be "stdio", "http", "sse" or "websocket"');
    return undefined;
  }
  const { url, headers, auth } = config;
  if (typeof url !== "string" || !URL.canParse(url)) problems.push("url must be an absolute URL");
  else if (!protocols.includes(new URL(url).protocol))
    problems.push(`url must begin with ${protocols.join("// or ")}//`);
  if (typeof url === "string" && config.transport === "websocket" && url.includes("#")) {
    problems.push("a WebSocket url must not have a fragment");
  }
  const ofToken = isObject(auth) ? tokenHeaders(auth) : undefined;
  const inHeaders = mapProblems(headers, "headers");
  problems.push(...inHeaders);
  if (inHeaders.length === 0) {
    if (ofToken !== undefined && Object.keys(headers ?? {}).some((name) => /^authorization$/i.test(name)))
      problems.push("auth.token and headers.Authorization cannot be set together");
    for (const [name, value] of Object.entries({ ...headers, ...ofToken })) {
      // eslint-disable-next-line no-control-regex -- exactly the characters that a header must not carry
      if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name) || !/^[\t\x20-\x7E\x80-\xFF]*$/.test(value))
        problems.push(`the header "${name}" has a character that HTTP does not allow in its name or value`);
    }
  }
  return {
    transport: config.transport,
    url,
    headers: ofToken === undefined ? headers : { ...headers, ...ofToken },
  };
}

function readLimits(given: McpConfig["limits"], problems: string[]): Limits {
  const limits: Record<string, number> = { ...DEFAULT_LIMITS };
  for (const [name, value] of Object.entries(given ?? {})) {
    if (value === undefined) continue;
    if (!Object.hasOwn(DEFAULT_LIMITS, name)) {
      const known = Object.keys(DEFAULT_LIMITS);
      const which = didYouMean(name, known) ?? `The limits are ${known.join(", ")}.`;
      problems.push(`limits.${name} is not a known limit. ${which}`);
    } else if (typeof value !== "number" || !(value >= 0))
      problems.push(`limits.${name} must be a number of at least 0`);
    else limits[name] = value;
  }
  return limits as unknown as Limits;
}

function mapProblems(value: unknown, path: string): string[] {
  if (value === undefined) return [];
  if (!isObject(value)) return [`${path} must map names to strings`];
  return Object.entries(value).flatMap(([name, entry]) => {
    if (typeof entry !== "string")
      return [
        `${path}.${name} must be a string, but is ${entry === undefined ? "undefined" : kindOf(entry)}`,
      ];
    return entry.includes("\0") ? [`${path}.${name} must not contain NUL`] : [];
  });
}

/** Warnings about values such as `${TOKEN}`: only config files replace references, so that the server gets them as they are. */
export function unreplacedReferences({ name, endpoint }: ServerDefinition): Diagnostic[] {
  const [field, values] =
    endpoint.transport === "stdio"
      ? ["env", endpoint.env]
      : ["headers", "headers" in endpoint ? endpoint.headers : {}];
  return Object.entries(values ?? {}).flatMap(([key, value]): Diagnostic[] => {
    const variable = /^(?:Bearer )?\$\{([A-Za-z_]\w*)\}$/.exec(value)?.[1];
    if (variable === undefined) return [];
    const message = `${field}.${key} is the text ${JSON.stringify(value)}: only config files replace such references`;
    const hint = `Pass the value itself, for instance with process.env.${variable}.`;
    return [{ code: "CONFIG_INVALID", severity: "warning", server: name, message, hint }];
  });
}

/** The default name: the program and its first word, or the URL. It leaves out options and queries, which may hold secrets. */
function defaultName(endpoint: Endpoint): string {
  if (endpoint.transport === "stdio") {
    const { command, args } = toCommandLine(endpoint);
    const program = command.split(/[\\/]/).at(-1) ?? command;
    const subject = args.find((arg) => /^[@A-Za-z0-9._/-]+$/.test(arg) && !arg.startsWith("-"));
    return [program, subject?.split("/").slice(-2).join("/")].filter(Boolean).join(" ").slice(0, 80);
  }
  const { origin, pathname } = new URL(endpoint.url);
  return `${origin}${pathname}`;
}
