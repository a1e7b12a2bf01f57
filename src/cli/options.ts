// The options that every command that talks to a server takes: their help, and their values checked all at once.

import type { Command } from "commander";
import { didYouMean, PortolanError } from "../errors/index.ts";
import type { EraPin, Limits } from "../model/index.ts";
import {
  addSandboxOptions,
  parseSandboxOptions,
  type RawSandboxOptions,
  type SandboxOptions,
} from "./sandbox-options.ts";

/** As commander hands them over: text and flags. */
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
  /** Whether the user may be asked something. */
  readonly input: boolean;
  /** The folder or file that declares the servers; the current folder unless told. */
  readonly workspace: string | undefined;
  /** How long servers are waited for. */
  readonly waitMs: number | undefined;
  readonly sandbox: SandboxOptions;
  /** Whether the code that lies beside drivers may run. */
  readonly driverCode: boolean;
}

export const collect = (value: string, previous: string[] | undefined): string[] => [
  ...(previous ?? []),
  value,
];

export function addServerOptions(command: Command): Command {
  const known = addDriverCodeOption(addWorkspaceOption(addOutputOptions(command)))
    .option("--header <header>", 'HTTP header to send, as "Name: value" (repeatable; URLs)', collect)
    .option(
      "--env <variable>",
      "NAME=value for the server, or NAME to pass on your own (repeatable; commands)",
      collect,
    )
    .option("--cwd <dir>", "working directory of the server (commands)")
    .option("--root <dir>", "directory to offer the server as a root (repeatable)", collect);
  return addSandboxOptions(known)
    .option("--transport <kind>", "http, sse or websocket (URLs)")
    .option("--era <era>", "protocol era: auto, legacy or modern")
    .option("--timeout <time>", "give up on a request that is silent for this long: 30, 500ms, 2m")
    .option("--start-timeout <time>", "give up when the server is not ready by then")
    .option("--max-time <time>", "give up on a request after this long, whatever progress it reports")
    .option("--no-input", "never ask anything; the server's questions are declined");
}

export function addWorkspaceOption(command: Command): Command {
  return command.option(
    "-w, --workspace <path>",
    "the folder or the file that declares the servers (default: this folder)",
  );
}

/** For commands that start the servers of the workspace. */
export function addDriverCodeOption(command: Command): Command {
  return command.option("--driver-code", "run the code that lies beside drivers, with all your rights");
}

/** The options of every command: what is shown, and in which form. */
export function addOutputOptions(command: Command): Command {
  return command
    .option("--json", "print JSON (the default when stdout is not a terminal)")
    .option("--text", "print text also when stdout is not a terminal")
    .option("--quiet", "no progress, notes or warnings")
    .option("--verbose", "show diagnostics, the server's log messages, and causes of errors")
    .option("--no-color", "no colour (also: NO_COLOR, FORCE_COLOR)");
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TIME = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Checks the options' values; throws one USAGE error that names everything that is wrong. */
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
        `--header must be "Name: value"${colon < 1 ? "" : `, and ${JSON.stringify(name)} is no header name`}`,
      );
    else if (/[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/.test(value))
      problems.push(`--header ${name}: its value holds a character that a header cannot carry`);
    else headers[name] = value;
  }
  const env: Record<string, string> = {};
  for (const text of raw.env ?? []) {
    const equals = text.indexOf("=");
    const name = equals < 0 ? text : text.slice(0, equals);
    const value = equals < 0 ? ownEnv[name] : text.slice(equals + 1);
    if (name === "") problems.push("--env must be NAME=value or NAME");
    else if (value === undefined)
      problems.push(`--env ${name}: this variable is not set here; write ${name}=value`);
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
      problems.push(`${flag} must be seconds or a time such as 500ms, 2m, 1h, got ${JSON.stringify(text)}`);
    else limits[key] = ms;
  };
  time("--timeout", raw.timeout, "requestTimeoutMs");
  time("--start-timeout", raw.startTimeout, "startTimeoutMs");
  time("--max-time", raw.maxTime, "maxRequestMs");
  const waitMs = raw.wait === undefined ? undefined : parseTime(raw.wait);
  if (raw.wait !== undefined && waitMs === undefined)
    problems.push(`--wait must be seconds or a time such as 500ms, 2m, 1h, got ${JSON.stringify(raw.wait)}`);
  const transport = oneOf("--transport", raw.transport, ["http", "sse", "websocket"] as const, problems);
  const era = oneOf("--era", raw.era, ["auto", "legacy", "modern"] as const, problems);
  const sandbox = parseSandboxOptions(raw, problems);
  if (problems.length > 0) throw new PortolanError("USAGE", problems.join("\n"), { data: { problems } });
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
  };
}

/** Milliseconds of `30`, `1.5s`, `500ms`, `2m`; undefined for anything else, and for no time at all. */
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
  problems.push(
    `${flag} must be ${allowed.join(", ")}, got ${JSON.stringify(value)}. ${didYouMean(value, allowed) ?? ""}`.trim(),
  );
  return undefined;
}
