// The options of `connectMcp()` and of requests, as tables of their kinds.

import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import {
  OPTION_KINDS,
  type OptionKind,
  type OptionTable,
  optionsError,
  problemsOf,
  type PortolanError,
} from "../errors/index.ts";
import { type ClientKey, type IdentityProvider, isObject, type TokenExchange } from "../model/index.ts";
import type {
  McpHandlers,
  McpHttpConfig,
  McpOAuth,
  McpOptions,
  McpStdioConfig,
  McpToken,
  RequestOptions,
} from "./types.ts";

const { anything, callback, either, fields, flag, list, milliseconds, object, oneOf, signal, text, texts } =
  OPTION_KINDS;

/** `C:` is a drive and no scheme. */
const URI = /^[a-z][a-z0-9+.-]+:/i;

const root: OptionKind = (value, path) => {
  if (!isObject(value)) return object(value, path);
  const { uri } = value;
  if (typeof uri === "string" && URI.test(uri)) return [];
  const isPath = typeof uri === "string" && isAbsolute(uri);
  const hint = isPath ? `Write ${JSON.stringify(pathToFileURL(uri).href)}.` : undefined;
  return [{ message: `${path}.uri must be a URI such as "file:///workspace"`, hint }];
};

/** The kind of `handlers.roots`, and of the answer of such a function. */
export const ROOTS_KIND: OptionKind = list(root);

const HANDLERS: OptionTable<McpHandlers> = {
  elicit: callback,
  sample: callback,
  roots: either(callback, ROOTS_KIND),
};

/** The kind of `handlers`, here and in the options of a workspace. */
export const HANDLERS_KIND: OptionKind = fields(HANDLERS);

/** `toServerDefinition()` checks the fields that are `anything` here. */
const COMMON: OptionTable<McpOptions & Pick<McpHttpConfig, "transport">> = {
  transport: anything,
  name: anything,
  era: anything,
  limits: anything,
  clientInfo: object,
  handlers: HANDLERS_KIND,
  logLevel: oneOf("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"),
  watch: flag,
  retryHinted: flag,
  signal: anything,
  onDiagnostic: callback,
};

export const STDIO_CONFIG: OptionTable<McpStdioConfig> = {
  ...COMMON,
  command: anything,
  args: anything,
  env: anything,
  cwd: anything,
  sandbox: anything,
  onInstalling: callback,
  onStderr: callback,
};

/** The fields of every grant. */
interface GrantFields {
  readonly type: string;
  readonly provider: IdentityProvider;
  readonly assertion: string;
}

const GRANT: OptionTable<GrantFields> = {
  type: oneOf("authorization-code", "client-credentials", "enterprise", "jwt-bearer"),
  provider: fields<IdentityProvider>({
    tokenEndpoint: text,
    clientId: text,
    clientSecret: text,
    idToken: text,
  }),
  assertion: text,
};

const OAUTH: OptionTable<McpOAuth> = {
  grant: fields(GRANT),
  clientId: text,
  clientSecret: text,
  clientKey: fields<ClientKey>({ pem: text, algorithm: text }),
  clientMetadataUrl: text,
  issuer: text,
  scopes: texts,
  account: text,
  redirectUri: text,
  perCaller: flag,
  exchange: fields<TokenExchange>({
    tokenEndpoint: text,
    clientId: text,
    clientSecret: text,
    audience: text,
    scopes: texts,
  }),
  openLoginPage: callback,
  showDeviceCode: callback,
  store: object,
};

/** A provider of the program has members of its own choice. */
const provider: OptionKind = (value, path) =>
  isObject(value) && typeof value.headers === "function"
    ? []
    : [{ message: `${path} must be an object with a function headers()` }];

const TOKEN: OptionTable<McpToken> = { token: text };

/** The last kind names the problems, so that a token is not reported as an unknown setting of OAuth. */
const auth: OptionKind = (value, path) => {
  if (!isObject(value) || !Object.hasOwn(value, "token"))
    return either(provider, fields({ ...TOKEN, ...OAUTH }))(value, path);
  const ofToken: OptionKind = (given, at) => [
    ...(isObject(given) && given.token === undefined ? text(given.token, `${at}.token`) : []),
    ...fields(TOKEN)(given, at),
  ];
  return either(provider, ofToken)(value, path);
};

export const HTTP_CONFIG: OptionTable<McpHttpConfig> = {
  ...COMMON,
  url: anything,
  headers: anything,
  auth,
};

/** The problems of a config, whose transport is known. `others` is the table of the other transports. */
export function configProblems(
  config: object,
  table: Readonly<Record<string, OptionKind>>,
  others: { readonly table: object; readonly transport: string },
): ReturnType<OptionKind> {
  const isOther = (name: string): boolean => !Object.hasOwn(table, name) && Object.hasOwn(others.table, name);
  const entries = Object.entries(config).filter(([, value]) => value !== undefined);
  return [
    ...entries.flatMap(([name]) =>
      isOther(name) ? [{ message: `${name} belongs to transport ${others.transport}` }] : [],
    ),
    ...problemsOf(Object.fromEntries(entries.filter(([name]) => !isOther(name))), table),
  ];
}

/** The options of every transport, for a config whose transport is missing or wrong. */
export const ANY_CONFIG: OptionTable<Omit<McpStdioConfig, "transport"> & McpHttpConfig> = {
  ...STDIO_CONFIG,
  ...HTTP_CONFIG,
};

export const REQUEST_OPTIONS: OptionTable<RequestOptions> = {
  signal,
  timeoutMs: milliseconds,
  maxTimeoutMs: milliseconds,
  onProgress: callback,
  meta: object,
};

const LIST: OptionTable<RequestOptions & { prefix?: string; refresh?: boolean }> = {
  ...REQUEST_OPTIONS,
  prefix: text,
  refresh: flag,
};

/** The error of wrong request options; undefined if they are right. */
export function requestOptionsError(options: RequestOptions | undefined): PortolanError | undefined {
  return optionsError("the options of the request", options, REQUEST_OPTIONS);
}

export function checkRequestOptions(options: RequestOptions | undefined): void {
  const error = requestOptionsError(options);
  if (error !== undefined) throw error;
}

export function checkListOptions(options: object | undefined): void {
  const error = optionsError("the options of the list", options, LIST);
  if (error !== undefined) throw error;
}

/** The kind of a wrong value, for messages: `an array`. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "string" ? "a text" : `of the type ${typeof value}`;
}
