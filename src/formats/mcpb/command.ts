// The program of an MCPB bundle on one machine: a pure function of manifest, folders and settings.

import { parseRange } from "../../base/text/versions.ts";
import { type McpbValue, problemOf, toNpmRange } from "./check.ts";
import { expand, type Placeholder, soleSetting, type SystemPlaceholder } from "./placeholders.ts";
import type { McpbManifest } from "./read.ts";

export interface McpbPlace {
  /** As Node.js names it: darwin, linux, win32. */
  readonly platform: string;
  /** The absolute path of the unpacked bundle. */
  readonly folder: string;
  readonly home: string;
  /** By default the folders of these names in the home folder. */
  readonly desktop?: string;
  readonly documents?: string;
  readonly downloads?: string;
}

export interface McpbProgram {
  readonly runtime: McpbManifest["server"]["type"];
  /** A name such as `node`, or the absolute path of a file in the bundle. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Relative paths in the arguments begin here. */
  readonly cwd: string;
}

export type McpbProgramResult =
  | { readonly ok: true; readonly program: McpbProgram }
  /** One sentence for each setting that is missing or wrong. */
  | { readonly ok: false; readonly problems: readonly string[]; readonly missing: readonly string[] };

/**
 * An argument or variable with a setting that has neither value nor default is left out. A setting with several values
 * becomes several arguments; inside of a longer text its values are joined by commas.
 */
export function mcpbProgram(
  manifest: McpbManifest,
  place: McpbPlace,
  values: Readonly<Record<string, McpbValue>> = {},
): McpbProgramResult {
  const { server, userConfig = {} } = manifest;
  const system = systemValues(place);
  const fillSystem = ({ name }: Placeholder): string | undefined => system.get(name);
  const settings = new Map<string, readonly string[]>();
  const problems: string[] = [];
  const missing: string[] = [];
  for (const [name, setting] of Object.entries(userConfig)) {
    const given = Object.hasOwn(values, name) ? values[name] : undefined;
    const problem = given === undefined ? undefined : problemOf(given, setting);
    if (problem !== undefined) problems.push(`The setting ${name} is not valid: it ${problem}.`);
    const preset = setting.default;
    const usual =
      preset === undefined || problemOf(preset, setting) !== undefined
        ? []
        : toTexts(preset).map((text) => expand(text, fillSystem));
    const texts = given === undefined ? usual : toTexts(given);
    const filled = texts.filter((text) => text !== "");
    if (filled.length > 0) settings.set(name, filled);
    else if (setting.required === true) missing.push(name);
  }
  if (problems.length > 0 || missing.length > 0)
    return {
      ok: false,
      problems: [...problems, ...missing.map((name) => `The setting ${name} is missing.`)],
      missing,
    };

  /** Undefined if the text mentions a declared setting without a value. */
  const fill = (text: string): string | undefined => {
    let isLeftOut = false;
    const filled = expand(text, ({ name, setting }) => {
      if (setting === undefined) return system.get(name);
      if (!Object.hasOwn(userConfig, setting)) return undefined;
      const texts = settings.get(setting);
      if (texts === undefined) isLeftOut = true;
      return texts?.join(",") ?? "";
    });
    return isLeftOut ? undefined : filled;
  };
  const fillWord = (word: string): readonly string[] => {
    const setting = soleSetting(word);
    const texts = setting === undefined ? undefined : settings.get(setting);
    if (texts !== undefined) return texts;
    const filled = fill(word);
    return filled === undefined ? [] : [filled];
  };

  const { command, args, env } = commandOf(server, place.platform);
  const filledEnv = Object.entries(env).flatMap(([name, text]): [string, string][] => {
    const filled = fill(text);
    return filled === undefined ? [] : [[name, filled]];
  });
  return {
    ok: true,
    program: {
      runtime: server.type,
      command: inBundle(fill(command) ?? command, place),
      args: args.flatMap(fillWord),
      env: Object.fromEntries(filledEnv),
      cwd: place.folder,
    },
  };
}

interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A field of an override replaces the whole field. */
function commandOf(server: McpbManifest["server"], platform: string): Command {
  const { mcpConfig, entryPoint } = server;
  const entry = entryPoint.replace(/^\$\{__dirname\}(\$\{\/\}|[/\\])/, "");
  // Only bundles of type uv may have no mcp_config: the client runs their entry point.
  if (mcpConfig === undefined)
    return { command: "uv", args: ["run", "--directory", "${__dirname}", entry], env: {} };
  const { platformOverrides = {}, command, args = [], env = {} } = mcpConfig;
  const other = Object.hasOwn(platformOverrides, platform) ? platformOverrides[platform] : undefined;
  return { command: other?.command ?? command, args: other?.args ?? args, env: other?.env ?? env };
}

/** A relative path with a slash is a file of the bundle, a bare name is a program of the machine. */
function inBundle(command: string, { folder, platform }: McpbPlace): string {
  const separator = platform === "win32" ? "\\" : "/";
  if (/^([/\\]|[A-Za-z]:)/.test(command) || !/[/\\]/.test(command)) return command;
  return `${folder}${separator}${command.replace(/^\.[/\\]/, "")}`;
}

function systemValues(place: McpbPlace): ReadonlyMap<string, string> {
  const { platform, folder, home, desktop, documents, downloads } = place;
  const separator = platform === "win32" ? "\\" : "/";
  const values: Record<SystemPlaceholder, string> = {
    __dirname: folder,
    HOME: home,
    DESKTOP: desktop ?? `${home}${separator}Desktop`,
    DOCUMENTS: documents ?? `${home}${separator}Documents`,
    DOWNLOADS: downloads ?? `${home}${separator}Downloads`,
    pathSeparator: separator,
    "/": separator,
  };
  return new Map(Object.entries(values));
}

function toTexts(value: McpbValue): readonly string[] {
  return typeof value === "object" ? value : [String(value)];
}

export interface McpbRequirements {
  readonly os?: readonly ("darwin" | "linux" | "win32")[];
  /** Ranges in the syntax of npm. */
  readonly runtime: { readonly node?: string; readonly python?: string };
}

/** The requirements of the bundle (system, runtimes), in the form of a package's `requirements`. */
export function mcpbRequirements({ compatibility }: McpbManifest): McpbRequirements {
  const { platforms, runtimes: { node, python } = {} } = compatibility ?? {};
  return {
    os: platforms === undefined || platforms.length === 0 ? undefined : platforms,
    runtime: {
      node: toRange(node),
      python: toRange(python),
    },
  };
}

function toRange(written: string | undefined): string | undefined {
  const range = written === undefined ? undefined : toNpmRange(written);
  return range === undefined || parseRange(range) === undefined ? undefined : range;
}
