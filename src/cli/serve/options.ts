// Options of `portolan serve`: checks all values at once, and merges them with the settings of portolan.yaml.

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type GatewaySettings, LOG_FORMATS, type LogFormat } from "../../model/index.ts";
import type { RawOptions } from "../options/parse.ts";
import { notAllowed, throwUsageErrors } from "../options/usage-error.ts";

export interface RawServeOptions extends RawOptions {
  stdio?: boolean;
  host?: string;
  port?: string;
  /** False with --no-auth. */
  auth?: boolean;
  sse?: boolean;
  websocket?: boolean;
  tlsCert?: string;
  tlsKey?: string;
  allowHost?: string[];
  allowOrigin?: string[];
  only?: string[];
  newToken?: boolean;
  showToken?: boolean;
  daemon?: boolean;
  logFormat?: string;
  logFile?: string;
}

export interface ServeOptions {
  readonly stdio: boolean;
  readonly json: boolean;
  /** Only the settings of the command line. */
  readonly settings: GatewaySettings;
  readonly only: readonly string[] | undefined;
  readonly newToken: boolean;
  readonly showToken: boolean;
  readonly daemon: boolean;
  /** Undefined: `pretty` on a terminal, `text` elsewhere. */
  readonly logFormat: LogFormat | undefined;
  readonly logFile: string | undefined;
}

/** `pretty` is for a person at a terminal; the others have one line for each event. */

const HOST = /^(?:\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+|[0-9a-f:]+)$/i;
const ALLOWED_HOST = /^(?:\*\.)?(?:\[[0-9a-f:.]+\]|[^\s:/?#@[\]*]+)(?::\d{1,5})?$/i;
const ORIGIN = /^https?:\/\/[^\s/?#@]+$/i;
const MAX_PORT = 65_535;

/** Throws one USAGE error that lists every wrong value. */
export function parseServeOptions(raw: RawServeOptions, cwd: string): ServeOptions {
  const problems: string[] = [];
  if (raw.stdio === true) problems.push(...forHttpOnly(raw));
  else if (raw.standalone === true)
    problems.push("--standalone works only with --stdio; a gateway on HTTP always starts servers of its own");
  const port = raw.port === undefined ? undefined : Number(raw.port);
  if (port !== undefined && !(/^\d{1,5}$/.test(raw.port ?? "") && port <= MAX_PORT))
    problems.push(`--port must be a number from 0 to ${MAX_PORT}, not ${JSON.stringify(raw.port)}`);
  if (raw.host !== undefined && !HOST.test(raw.host))
    problems.push(`--host must be a name or an address without a port, not ${JSON.stringify(raw.host)}`);
  for (const host of raw.allowHost ?? [])
    if (!ALLOWED_HOST.test(host))
      problems.push(`--allow-host must be name, name:port or *.name, not ${JSON.stringify(host)}`);
  for (const origin of raw.allowOrigin ?? [])
    if (!ORIGIN.test(origin))
      problems.push(`--allow-origin must be like https://app.example.com, not ${JSON.stringify(origin)}`);
  const tls = parseTls(raw, cwd, problems);
  if (raw.auth === false && (raw.newToken === true || raw.showToken === true))
    problems.push(`--no-auth means that no token is needed; leave out ${flagOf(raw)}`);
  const logFormat = LOG_FORMATS.find((format) => format === raw.logFormat);
  if (raw.logFormat !== undefined && logFormat === undefined)
    problems.push(notAllowed("--log-format", raw.logFormat, LOG_FORMATS));
  throwUsageErrors(problems);
  const { sse, websocket } = raw;
  return {
    stdio: raw.stdio === true,
    json: raw.json === true,
    settings: {
      ...(raw.host === undefined ? {} : { host: raw.host.replace(/^\[(.*)\]$/, "$1") }),
      ...(port === undefined ? {} : { port }),
      ...(raw.auth === false ? { auth: "none" } : {}),
      ...(tls === undefined ? {} : { tls }),
      ...(raw.allowHost === undefined ? {} : { allowedHosts: raw.allowHost }),
      ...(raw.allowOrigin === undefined ? {} : { allowedOrigins: raw.allowOrigin }),
      ...(sse === true || websocket === true
        ? { transports: { ...(sse === true ? { sse } : {}), ...(websocket === true ? { websocket } : {}) } }
        : {}),
    },
    only: raw.only === undefined ? undefined : [...new Set(raw.only)],
    newToken: raw.newToken === true,
    showToken: raw.showToken === true,
    daemon: raw.daemon === true,
    logFormat,
    logFile: raw.logFile === undefined ? undefined : resolve(cwd, raw.logFile),
  };
}

/** Options override the config file; lists of both are combined. */
export function overSettings(
  configured: GatewaySettings | undefined,
  given: GatewaySettings,
): GatewaySettings {
  const both = (key: "allowedHosts" | "allowedOrigins"): GatewaySettings =>
    given[key] === undefined ? {} : { [key]: [...new Set([...(configured?.[key] ?? []), ...given[key]])] };
  return {
    ...configured,
    ...given,
    ...(given.transports === undefined
      ? {}
      : { transports: { ...configured?.transports, ...given.transports } }),
    ...both("allowedHosts"),
    ...both("allowedOrigins"),
  };
}

function forHttpOnly(raw: RawServeOptions): string[] {
  const given: readonly (readonly [string, boolean])[] = [
    ["--host", raw.host !== undefined],
    ["--port", raw.port !== undefined],
    ["--no-auth", raw.auth === false],
    ["--sse", raw.sse === true],
    ["--websocket", raw.websocket === true],
    ["--tls-cert", raw.tlsCert !== undefined],
    ["--tls-key", raw.tlsKey !== undefined],
    ["--allow-host", raw.allowHost !== undefined],
    ["--allow-origin", raw.allowOrigin !== undefined],
    ["--new-token", raw.newToken === true],
    ["--show-token", raw.showToken === true],
    ["--json", raw.json === true],
    ["--daemon", raw.daemon === true],
  ];
  return given
    .filter(([, isGiven]) => isGiven)
    .map(([flag]) => `${flag} cannot be used with --stdio; it is for a gateway on HTTP`);
}

function parseTls(
  { tlsCert, tlsKey }: RawServeOptions,
  cwd: string,
  problems: string[],
): { cert: string; key: string } | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined) problems.push("--tls-key needs --tls-cert, the certificate of that key");
  if (tlsKey === undefined) problems.push("--tls-cert needs --tls-key, the key of that certificate");
  const file = (flag: string, path: string | undefined): string => {
    const found = resolve(cwd, path ?? ".");
    if (path !== undefined && statSync(found, { throwIfNoEntry: false })?.isFile() !== true)
      problems.push(`${flag} ${path} is not a file`);
    return found;
  };
  return { cert: file("--tls-cert", tlsCert), key: file("--tls-key", tlsKey) };
}

function flagOf({ newToken, showToken }: RawServeOptions): string {
  return [newToken === true ? "--new-token" : "", showToken === true ? "--show-token" : ""]
    .filter((flag) => flag !== "")
    .join(" and ");
}
