// Servers of the official MCP registry: which part of a server.json the lock file names, and how the other parts become ordinary
// server configs.

import { parseUrl } from "../../base/net/urls.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  type ArgumentTemplate,
  fillOption,
  type FilledOption,
  type InstallableOption,
  parseServerJson,
  type ServerJsonDocument,
  type Template,
  toServerOptions,
} from "../../formats/server-json/index.ts";
import type { ServerFields } from "../../formats/manifest/index.ts";
import { escapeReferences, isObject, parseReferences } from "../../model/index.ts";
import { toCanonicalJson } from "../../base/text/canonical-json.ts";

/**
 * The bytes of a server.json that are hashed: its canonical JSON, because the API of a registry may order its fields anew. An entry
 * of the API, `{ server, _meta }`, is accepted too. Throws a TypeError for other values.
 */
export function toServerDocument(value: unknown): Buffer {
  const inner = isObject(value) && isObject(value.server) && value.name === undefined ? value.server : value;
  const text = isObject(inner) ? toCanonicalJson(inner) : undefined;
  if (text !== undefined) return Buffer.from(text);
  throw new TypeError("not a server.json document");
}

export function parseServerDocument(bytes: Uint8Array, label: string): ServerJsonDocument {
  const { document, diagnostics } = parseServerJson(Buffer.from(bytes).toString("utf8"), label);
  if (document !== undefined) return document;
  const first = diagnostics.find(({ severity }) => severity === "error");
  throw new PortolanError(
    "FILE_INVALID",
    `The server.json of ${label} is not valid: ${first?.message ?? ""}`,
    {
      hint: "Report this to the publisher of the server.",
      data: { diagnostics },
    },
  );
}

/** The option of a server.json as the lock file writes it. Undefined for those that are not installed by Portolan. */
export function lockedSourceOf(option: InstallableOption): string | undefined {
  if (option.kind === "npm") return `npm:${option.name}@${option.version}`;
  return option.kind === "mcpb" ? `mcpb:${option.source}` : undefined;
}

/** The option that the lock file names. */
export function optionOf(document: ServerJsonDocument, source: string): InstallableOption | undefined {
  return toServerOptions(document).find(
    (option): option is InstallableOption =>
      option.kind !== "unsupported" && lockedSourceOf(option) === source,
  );
}

/**
 * An option that is not a package of the lock file, as a server of portolan.yaml: a Python package with uvx, an image with docker, or
 * a URL. `env` has the settings by their variables; its values may be references such as `${NAME}`. Texts of the document itself are
 * no references: a stranger could name a secret of this machine in them.
 */
export function toServerFields(
  option: InstallableOption,
  env: Readonly<Record<string, string>>,
): ServerFields | undefined {
  const filled = fillEscaped(option, env);
  switch (option.kind) {
    case "pypi": {
      const args = [
        ...filled.runtimeArgs,
        escapeReferences(`${option.name}@${option.version}`),
        ...filled.args,
      ];
      return option.transport === "stdio" ? { command: "uvx", args, env: filled.env } : undefined;
    }
    case "oci": {
      const env = { ...variablesOfRuntime(filled.runtimeArgs, option.image), ...filled.env };
      const common = { docker: escapeReferences(option.image), args: [...filled.args], env };
      if (option.transport === "stdio") return common;
      const url = parseUrl(filled.url ?? "");
      if (url === undefined || url.port === "") return undefined;
      return { ...common, transport: option.transport, port: Number(url.port), path: url.pathname };
    }
    case "remote":
      return filled.url === undefined
        ? undefined
        : { transport: option.transport, url: filled.url, headers: filled.headers };
    default:
      return undefined;
  }
}

/** Options of `docker run` that Portolan sets itself. */
const IMPLIED = new Set(["-i", "-t", "-it", "-ti", "--rm", "--interactive", "--tty", "--init"]);

/**
 * The variables that the arguments of the container engine set. All other arguments are refused, because they would widen the
 * container beyond its sandbox, or would have no effect.
 */
function variablesOfRuntime(words: readonly string[], image: string): Record<string, string> {
  const variables: Record<string, string> = {};
  const rest = [...words];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (IMPLIED.has(word)) continue;
    const [, flag, joined] = /^(-e|--env)(?:=(.*))?$/s.exec(word) ?? [];
    const variable = flag === undefined ? undefined : (joined ?? rest.shift() ?? "");
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(variable ?? "") ?? [];
    if (name !== undefined && value !== undefined) variables[name] = value;
    else {
      // The value of a variable may be a secret.
      const option = variable === undefined ? word : `${flag} ${variable.split("=", 1)[0]}`.trim();
      const isWithoutValue = variable?.includes("=") === false;
      const why = isWithoutValue ? "but its value is missing" : "which Portolan does not pass on";
      const by = isWithoutValue
        ? "set the variable under env"
        : "set what the option was for: folders and hosts under sandbox, a port under port";
      throw new PortolanError(
        "NOT_SUPPORTED",
        `The server.json starts the image ${image} with the docker run option ${JSON.stringify(option.slice(0, 100))}, ${why}.`,
        {
          hint: `Add the image by hand (docker: in portolan.yaml), and ${by}. Or choose another kind of package of this server with --from.`,
          data: { reason: "RUNTIME_ARGUMENT" },
        },
      );
    }
  }
  return variables;
}

/** Fills an option whose own texts are escaped. What looks like a reference afterwards must come from `env`. */
function fillEscaped(option: InstallableOption, env: Readonly<Record<string, string>>): FilledOption {
  const filled = fillOption(escapeOption(option), env);
  const given = new Set(Object.values(env).flatMap(referencesIn));
  const { args, runtimeArgs, env: variables, headers, url = "" } = filled;
  const texts = [...args, ...runtimeArgs, ...Object.values(variables), ...Object.values(headers), url];
  // A dollar sign of the document and a brace of a default value may meet.
  const foreign = texts.flatMap(referencesIn).find((name) => !given.has(name));
  if (foreign === undefined) return filled;
  throw new PortolanError(
    "FORBIDDEN",
    `The server.json refers to ${foreign}, a secret or variable of this machine.`,
    {
      hint: "Do not add this server: a server.json must not read your secrets and variables.",
      data: { reason: "FOREIGN_REFERENCE" },
    },
  );
}

function referencesIn(text: string): string[] {
  return parseReferences(text).parts.flatMap((part) =>
    part.kind === "text" ? [] : [text.slice(part.start, part.end)],
  );
}

function escapeOption<Option extends InstallableOption>(option: Option): Option {
  const escapeAll = (templates: Readonly<Record<string, Template>>): Record<string, Template> =>
    Object.fromEntries(Object.entries(templates).map(([name, template]) => [name, escapeTemplate(template)]));
  const own = {
    ...option,
    headers: escapeAll(option.headers),
    url: option.url && escapeTemplate(option.url),
  };
  if (own.kind === "remote" || option.kind === "remote") return own;
  return {
    ...own,
    env: escapeAll(option.env),
    args: option.args.map(escapeArgument),
    runtimeArgs: option.runtimeArgs.map(escapeArgument),
  };
}

function escapeArgument({ name, value, flag }: ArgumentTemplate): ArgumentTemplate {
  return {
    name: name === undefined ? undefined : escapeReferences(name),
    value: value === undefined ? undefined : escapeTemplate(value),
    flag,
  };
}

function escapeTemplate(template: Template): Template {
  return template.map((part) => (typeof part === "string" ? escapeReferences(part) : part));
}
