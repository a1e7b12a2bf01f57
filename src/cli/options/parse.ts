// Values of the common options: commander's text and flags, checked all at once.

import { didYouMean } from "../../errors/index.ts";
import type { EraPin, Limits } from "../../model/index.ts";
import { parseSandboxOptions, type RawSandboxOptions, type SandboxOptions } from "./sandbox.ts";
import { notAllowed, throwUsageErrors } from "./usage-error.ts";

/** Options as commander parses them: text and flags. */
export interface RawOptions extends RawSandboxOptions {
  json?: boolean;
  text?: boolean;
  quiet?: boolean;
  verbose?: boolean;
  color?: boolean;
  input?: boolean;
  header?: string[];
  env?: string[];
  root?: string[];
  cwd?: string;
  transport?: string;
  era?: string;
  timeout?: string;
  startTimeout?: string;
  maxTime?: string;
  workspace?: string;
  wait?: string;
  driverCode?: boolean;
  standalone?: boolean;
  envFile?: string;
  strict?: boolean;
}

export interface ServerOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  readonly roots: readonly string[];
  readonly cwd: string | undefined;
  readonly transport: "http" | "sse" | "websocket" | undefined;
  readonly era: EraPin | undefined;
  readonly limits: Partial<Limits>;
  readonly verbose: boolean;
  /** False with --no-input: the user is never asked for input. */
  readonly input: boolean;
  /** The folder or config file with the servers; undefined means the current folder. */
  readonly workspace: string | undefined;
  /** How long to wait for servers. */
  readonly waitMs: number | undefined;
  readonly sandbox: SandboxOptions;
  /** True when the code files of drivers may run. */
  readonly driverCode: boolean;
  /** True when the command starts servers of its own, although a gateway runs. */
  readonly standalone: boolean;
  /** A .env file that the user allows as a source of secrets. */
  readonly envFile?: string;
  /** True with --strict: a command that names a hidden path is not started. */
  readonly strict: boolean;
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TIME = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Checks the values of the options. Throws one USAGE error that lists every wrong value. */
export function parseServerOptions(
  raw: RawOptions,
  ownEnv: Readonly<Record<string, string | undefined>>,
): ServerOptions {
  const problems: string[] = [];
  const headers: Record<string, string> = {};
  for (const text of raw.header ?? []) {
    const colon = text.indexOf(":");
    const name = text.slice(0, Math.max(0, colon)).trim();
    const value = text.slice(colon + 1).trim();
    if (colon < 1 || !HEADER_NAME.test(name))
      problems.push(
        `--header must be "Name: value"${colon < 1 ? "" : `, and ${JSON.stringify(name)} is not a valid header name`}`,
      );
    else if (/[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/.test(value))
      problems.push(`--header ${name}: the value contains a character that HTTP headers do not allow`);
    else headers[name] = value;
  }
  const env: Record<string, string> = {};
  for (const text of raw.env ?? []) {
    const equals = text.indexOf("=");
    const name = equals < 0 ? text : text.slice(0, equals);
    const value = equals < 0 ? ownEnv[name] : text.slice(equals + 1);
    if (name === "") problems.push("--env must be NAME=value or NAME");
    else if (value === undefined)
      problems.push(`--env ${name}: this variable is not set in your environment; write --env ${name}=value`);
    else env[name] = value;
  }
  const limits: { -readonly [K in keyof Limits]?: number } = {};
  const time = (
    flag: string,
    text: string | undefined,
    key: "requestTimeoutMs" | "startTimeoutMs" | "maxRequestMs",
  ): void => {
    if (text === undefined) return;
    const ms = parseTime(text);
    if (ms === undefined)
      problems.push(
        `${flag} must be a number of seconds above 0, or a time such as 500ms, 2m, 1h, not ${JSON.stringify(text)}`,
      );
    else limits[key] = ms;
  };
  time("--timeout", raw.timeout, "requestTimeoutMs");
  time("--start-timeout", raw.startTimeout, "startTimeoutMs");
  time("--max-time", raw.maxTime, "maxRequestMs");
  const waitMs = raw.wait === undefined ? undefined : raw.wait === "0" ? 0 : parseTime(raw.wait);
  if (raw.wait !== undefined && waitMs === undefined)
    problems.push(
      `--wait must be a number of seconds, or a time such as 500ms, 2m, 1h, not ${JSON.stringify(raw.wait)}`,
    );
  const transport = oneOf("--transport", raw.transport, ["http", "sse", "websocket"] as const, problems);
  const era = oneOf("--era", raw.era, ["auto", "legacy", "modern"] as const, problems);
  const sandbox = parseSandboxOptions(raw, problems);
  throwUsageErrors(problems);
  return {
    headers,
    env,
    roots: raw.root ?? [],
    cwd: raw.cwd,
    transport,
    era,
    limits,
    verbose: raw.verbose === true,
    input: raw.input !== false,
    workspace: raw.workspace,
    waitMs,
    sandbox,
    driverCode: raw.driverCode === true,
    standalone: raw.standalone === true,
    envFile: raw.envFile,
    strict: raw.strict === true,
  };
}

/** Milliseconds of `30`, `1.5s`, `500ms`, `2m`; undefined for any other text and for zero. */
export function parseTime(text: string): number | undefined {
  const [, amount, unit] = TIME.exec(text) ?? [];
  if (amount === undefined) return undefined;
  const ms = Math.round(Number(amount) * (UNITS[unit ?? "s"] ?? 0));
  return ms > 0 && ms <= MAX_TIMER_MS ? ms : undefined;
}

function oneOf<T extends string>(
  flag: string,
  value: string | undefined,
  allowed: readonly T[],
  problems: string[],
): T | undefined {
  if (value === undefined || (allowed as readonly string[]).includes(value)) return value as T | undefined;
  problems.push(`${notAllowed(flag, value, allowed)} ${didYouMean(value, allowed) ?? ""}`.trim());
  return undefined;
}
