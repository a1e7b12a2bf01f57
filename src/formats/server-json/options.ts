// The ways to install or reach the server of a server.json: packages and URLs, each with its settings.

import { parseIntegrity, toSri } from "../../base/text/integrity.ts";
import { parseVersion } from "../../base/text/versions.ts";
import type { JsonObject } from "../../model/index.ts";
import { variableOf } from "../package/index.ts";
import type { ServerJsonDocument } from "./read.ts";
import type { ArgumentValue, NamedInput, PackageEntry, RemoteEntry } from "./schema.ts";
import { inputTemplate, Settings, type Template, toConfigurationSchema, toTemplate } from "./settings.ts";

/** A word of the command line, or a name and its value. It is left out if a setting in it has no value. */
export interface ArgumentTemplate {
  /** `--port`; it stands before the value as a word of its own. */
  readonly name?: string;
  /** Absent for a flag without a value. */
  readonly value?: Template;
  /** The name alone, if this setting is true. */
  readonly flag?: string;
}

export interface ServerSettings {
  /** Settings in the form of packages: a JSON Schema, and the environment variable of each setting. */
  readonly configuration?: { readonly schema: JsonObject; readonly env: Readonly<Record<string, string>> };
}

export type Transport = "stdio" | "streamable-http" | "sse";

interface PackagedServer extends ServerSettings {
  readonly transport: Transport;
  /** The URL of a package that listens on HTTP. */
  readonly url?: Template;
  readonly headers: Readonly<Record<string, Template>>;
  readonly env: Readonly<Record<string, Template>>;
  readonly args: readonly ArgumentTemplate[];
  /** Arguments of the program that runs the package, such as options of docker. */
  readonly runtimeArgs: readonly ArgumentTemplate[];
  readonly runtimeHint?: string;
  /** The registry that the document names. The configured one is used; a difference is shown. */
  readonly registryBaseUrl?: string;
  /** The hash of the file, as SRI. */
  readonly integrity?: string;
}

export type ServerOption =
  | ({ readonly kind: "npm" | "pypi"; readonly name: string; readonly version: string } & PackagedServer)
  | ({ readonly kind: "oci"; readonly image: string } & PackagedServer)
  | ({ readonly kind: "mcpb"; readonly source: string } & PackagedServer)
  | ({
      readonly kind: "remote";
      readonly transport: "streamable-http" | "sse";
      readonly url: Template;
      readonly headers: Readonly<Record<string, Template>>;
    } & ServerSettings)
  | {
      readonly kind: "unsupported";
      readonly registryType: string;
      readonly name: string;
      readonly reason: string;
    };

export type InstallableOption = Exclude<ServerOption, { readonly kind: "unsupported" }>;

/** In the order of the document: packages first, then remotes. */
export function toServerOptions({ packages = [], remotes = [] }: ServerJsonDocument): ServerOption[] {
  return [...packages.map(toPackageOption), ...remotes.map(toRemoteOption)];
}

/** As Node.js names them: linux, x64. */
export interface Platform {
  readonly os: string;
  readonly arch: string;
}

/** The kinds of options in the order in which they are preferred: those that Portolan installs and locks come first. */
export const OPTION_KINDS = ["npm", "mcpb", "pypi", "oci", "remote"] as const;

export type OptionKind = (typeof OPTION_KINDS)[number];

/** The options that Portolan can run or reach on this platform, the preferred one first. */
export function usableOptions(options: readonly ServerOption[], platform: Platform): InstallableOption[] {
  return options.filter((option) => isUsable(option, platform)).sort((a, b) => rankOf(a) - rankOf(b));
}

export function preferredOption(
  options: readonly ServerOption[],
  platform: Platform,
): InstallableOption | undefined {
  return usableOptions(options, platform)[0];
}

/** Portolan connects with stdio to what it starts. Only an image may listen on HTTP, at the port of its URL. */
function isUsable(option: ServerOption, platform: Platform): option is InstallableOption {
  switch (option.kind) {
    case "unsupported":
      return false;
    case "mcpb":
      return option.transport === "stdio" && fitsPlatform(option.source, platform);
    case "npm":
    case "pypi":
      return option.transport === "stdio";
    case "oci":
    case "remote":
      return true;
  }
}

const TRANSPORTS: readonly Transport[] = ["stdio", "streamable-http", "sse"];

function rankOf({ kind, transport }: InstallableOption): number {
  return OPTION_KINDS.indexOf(kind) * TRANSPORTS.length + TRANSPORTS.indexOf(transport);
}

const SYSTEM_WORDS: Readonly<Record<string, RegExp>> = {
  linux: /(^|[^a-z])linux([^a-z]|$)/,
  darwin: /(^|[^a-z])(darwin|mac|macos|osx)([^a-z]|$)/,
  win32: /(^|[^a-z])(win|win32|win64|windows)([^a-z]|$)/,
};
const ARCH_WORDS: Readonly<Record<string, RegExp>> = {
  x64: /(^|[^a-z0-9])(x64|amd64|x86_64|x86-64)([^a-z0-9]|$)/,
  arm64: /(^|[^a-z0-9])(arm64|aarch64)([^a-z0-9]|$)/,
};

/** The format has no field for the platform of a bundle. Publishers write it into the name of the file. */
function fitsPlatform(url: string, { os, arch }: Platform): boolean {
  const file = url.slice(url.lastIndexOf("/") + 1).toLowerCase();
  const fits = (words: Readonly<Record<string, RegExp>>, own: string): boolean => {
    const named = Object.keys(words).filter((name) => words[name]?.test(file));
    return named.length === 0 || named.includes(own);
  };
  return fits(SYSTEM_WORDS, os) && fits(ARCH_WORDS, arch);
}

function toPackageOption(entry: PackageEntry): ServerOption {
  const { registryType, identifier, version } = entry;
  const unsupported = (reason: string): ServerOption => ({
    kind: "unsupported",
    registryType,
    name: identifier,
    reason,
  });
  switch (registryType) {
    case "npm":
      if (!/^(@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/i.test(identifier))
        return unsupported("its identifier is not the name of an npm package");
      if (version === undefined) return unsupported("it names no version");
      if (parseVersion(version) === undefined) return unsupported("its version is not a valid npm version");
      return { kind: "npm", name: identifier, version, ...toPackaged(entry) };
    case "pypi":
      if (!/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(identifier))
        return unsupported("its identifier is not the name of a Python package");
      if (version === undefined) return unsupported("it names no version");
      if (!/^[A-Za-z0-9][A-Za-z0-9._!+-]*$/.test(version))
        return unsupported("its version is not a valid version of a Python package");
      return { kind: "pypi", name: identifier, version, ...toPackaged(entry) };
    case "oci":
      return /^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/.test(identifier)
        ? { kind: "oci", image: toImage(entry), ...toPackaged(entry) }
        : unsupported("its identifier is not the name of an image");
    case "mcpb":
      return { kind: "mcpb", source: identifier, ...toPackaged(entry) };
    case "nuget":
      return unsupported("NuGet packages run with the .NET tool dnx, which Portolan does not install");
    default:
      return unsupported("Portolan does not support this kind of package");
  }
}

/** The present form has the tag in the identifier; earlier ones have registry and version beside it. */
function toImage({ identifier, version, registryBaseUrl }: PackageEntry): string {
  const [first = ""] = identifier.split("/");
  const hasRegistry = identifier.includes("/") && /[.:]|^localhost$/.test(first);
  const registry = registryBaseUrl?.replace(/^https?:\/\//, "").replace(/\/+$/, "");
  const named =
    hasRegistry || registry === undefined || registry === "" ? identifier : `${registry}/${identifier}`;
  const hasTag = /@sha256:|:[^/]+$/.test(identifier);
  return hasTag || version === undefined ? named : `${named}:${version}`;
}

function toPackaged(entry: PackageEntry): PackagedServer {
  const settings = new Settings();
  const {
    transport,
    environmentVariables = [],
    packageArguments = [],
    runtimeArguments = [],
    fileSha256,
  } = entry;
  const env = toTemplates(settings, environmentVariables);
  const variables = new Map(environmentVariables.map(({ name }) => [name, name]));
  const names = new Map<string, string>();
  const args = packageArguments.map((argument) => toArgument(settings, argument, names));
  const runtimeArgs = runtimeArguments.map((argument) => toArgument(settings, argument, names));
  const headers = toTemplates(settings, transport.headers ?? []);
  const hash = fileSha256 === undefined ? undefined : parseIntegrity(fileSha256);
  return {
    transport: transport.type,
    // A gap of the URL names an argument or a variable of the package.
    url:
      transport.url === undefined
        ? undefined
        : toTemplate(transport.url, (name) => {
            const setting = names.get(name) ?? variables.get(name);
            return setting !== undefined && settings.find(setting) !== undefined ? setting : undefined;
          }),
    headers,
    env,
    args,
    runtimeArgs,
    runtimeHint: entry.runtimeHint,
    registryBaseUrl: entry.registryBaseUrl,
    integrity: hash === undefined ? undefined : toSri(hash),
    configuration: toConfiguration(settings, environmentVariables),
  };
}

function toRemoteOption({ type, url, headers = [], variables = {} }: RemoteEntry): ServerOption {
  const settings = new Settings();
  const template = toTemplate(url, (name) => {
    const input = Object.hasOwn(variables, name) ? variables[name] : undefined;
    return input === undefined
      ? undefined
      : settings.add(name, { ...input, isRequired: input.isRequired ?? true });
  });
  return {
    kind: "remote",
    transport: type,
    url: template,
    headers: toTemplates(settings, headers),
    configuration: toConfiguration(settings, []),
  };
}

function toTemplates(settings: Settings, inputs: readonly NamedInput[]): Record<string, Template> {
  return Object.fromEntries(inputs.map((input) => [input.name, inputTemplate(settings, input.name, input)]));
}

function toArgument(
  settings: Settings,
  argument: ArgumentValue,
  names: Map<string, string>,
): ArgumentTemplate {
  const { type, name, valueHint, value, isRepeated = false, format } = argument;
  if (type === "named" && name !== undefined && isBareFlag(argument)) return { name };
  if (type === "named" && name !== undefined && format === "boolean" && value === undefined) {
    const {
      variables: _variables,
      type: _type,
      name: _name,
      valueHint: _hint,
      isRepeated: _many,
      ...input
    } = argument;
    return { name, flag: settings.add(name, input) };
  }
  const wanted = name ?? valueHint ?? "argument";
  const { variables, description, isRequired, isSecret, default: preset, placeholder, choices } = argument;
  const template = inputTemplate(
    settings,
    wanted,
    { variables, value, description, isRequired, isSecret, format, default: preset, placeholder, choices },
    isRepeated,
  );
  const [only] = template;
  if (template.length === 1 && typeof only === "object") names.set(wanted.replace(/^-+/, ""), only.setting);
  if (template.length === 1 && typeof only === "object") names.set(wanted, only.setting);
  return type === "named" ? { name, value: template } : { value: template };
}

/** A named argument that says nothing about a value has none: `--stdio`. */
function isBareFlag({
  value,
  default: preset,
  isRequired,
  format,
  valueHint,
  choices,
  placeholder,
  ...rest
}: ArgumentValue): boolean {
  const describesValue = [preset, format, valueHint, choices, placeholder].some((one) => one !== undefined);
  const isFixed =
    value === "" || (value === undefined && isRequired !== false && rest.description === undefined);
  return isFixed && !describesValue && rest.variables === undefined && isRequired === undefined;
}

/** A setting that is an environment variable by itself keeps its name. */
function toConfiguration(settings: Settings, own: readonly NamedInput[]): ServerSettings["configuration"] {
  const { all } = settings;
  if (all.length === 0) return undefined;
  const variables = new Set(own.map(({ name }) => name));
  const env: Record<string, string> = {};
  for (const { name } of all) if (variables.has(name) && isVariable(name)) env[name] = name;
  const taken = new Set([...variables, ...Object.values(env)]);
  for (const { name } of all) {
    if (Object.hasOwn(env, name)) continue;
    const usual = variableOf(name);
    const base = isVariable(usual) ? usual : `SETTING_${usual}`;
    let variable = base;
    for (let count = 2; taken.has(variable); count += 1) variable = `${base}_${count}`;
    taken.add(variable);
    env[name] = variable;
  }
  return { schema: toConfigurationSchema(all), env };
}

function isVariable(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}
