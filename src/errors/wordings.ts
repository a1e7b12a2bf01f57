// Wordings of common mistakes: one function for each, so that every command, the gateway and the library say the same.

import { MAY_HAVE_RUN } from "./codes.ts";
import { PortolanError } from "./portolan-error.ts";
import { askAbout, suggest } from "./suggest.ts";

const MAX_LISTED = 20;
const MAX_NAME = 200;

/** For a call that was not sent in time. */
export const SLOW_SERVER_HINT =
  "If the server is slow, raise timeouts.request in its config (in a program: timeoutMs of the call).";
/** For a call that was sent, and got no answer in time. */
export const CALL_TIMEOUT_HINT: string = `${MAY_HAVE_RUN} ${SLOW_SERVER_HINT}`;

/** The hint of a start that took too long. */
export const START_TIMEOUT_HINT =
  "If the server is known to start slowly, raise timeouts.start in its config (in a program: limits.startTimeoutMs of connectMcp()).";

const UNKNOWN_ISSUER =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?)$/;

/** The usual way to trust a certificate authority, for every connection that Portolan opens. */
const EXTRA_CERTIFICATES =
  "If the server belongs to you or your company, set the variable NODE_EXTRA_CA_CERTS to the file of its CA certificate (PEM; for a self-signed certificate, the certificate itself). Set it where portolan starts: a running gateway reads it only at its start.";

/** The hint for a TLS certificate that Node.js refuses, by the code of the error; undefined for other codes. */
export function certificateHint(code = "", trust: string = EXTRA_CERTIFICATES): string | undefined {
  if (UNKNOWN_ISSUER.test(code))
    return `No certificate authority (CA) that this computer trusts has signed the certificate. ${trust}`;
  if (code === "CERT_HAS_EXPIRED")
    return "The certificate has expired. Renew it, or report this to the operator of the server. If it is valid, correct the clock of this computer.";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return "The certificate is for another host name. Use a host name of the certificate in the URL, or create a certificate for this host name.";
  return undefined;
}

/** `known` are the servers that the user could have meant. `reason` explains a server that is elsewhere. */
export function unknownServer(name: string, known: Iterable<string>, reason?: string): PortolanError {
  const names = [...known];
  const suggestions = suggest(name, names);
  return new PortolanError("SERVER_UNKNOWN", `There is no server ${quoted(name)}.`, {
    data: withSuggestions(suggestions),
    hint:
      reason ??
      askAbout(suggestions) ??
      (names.length === 0
        ? "There are no servers. Add one: portolan add <name> -- <command...>"
        : there(names)),
  });
}

interface ConfiguredPlace {
  readonly alias: string;
  readonly origin: { readonly file: string; readonly line: number; readonly format: string };
}

/** All places that can disable the server. `label` shortens the path of a file. */
export function disabledHint(
  { alias, origin }: ConfiguredPlace,
  label: (file: string) => string = (file) => file,
): string {
  const { format } = origin;
  if (format === "program")
    return `Your program disables this server. If the server has enabled: false, remove it. If the configuration has enabled_servers, add ${alias} to this list.`;
  // These files cannot disable a server.
  if (format === "mcpfile" || format === "driver")
    return `Add ${alias} to the list enabled_servers in portolan.yaml.`;
  const own = `If ${label(origin.file)}:${origin.line} disables the server, enable it there.`;
  return format === "manifest"
    ? `${own} If the manifest has enabled: false for the whole file, remove it. If the manifest or portolan.yaml has the list enabled_servers, add ${alias} to this list.`
    : `${own} If portolan.yaml has the list enabled_servers, add ${alias} to this list.`;
}

export interface UnknownTool {
  /** Undefined if no server of several has the tool. */
  readonly server?: string;
  readonly name: string;
  readonly known: Iterable<string>;
  /** One name of each item, for the hint that lists them. Default: `known`. */
  readonly listed?: readonly string[];
  /** Explains a name that is known and not offered. */
  readonly reason?: string;
  /** The error of the server. */
  readonly cause?: unknown;
}

export function unknownTool(about: UnknownTool): PortolanError {
  return unknownItem("TOOL_NOT_FOUND", "tool", about);
}

export function unknownPrompt(about: UnknownTool): PortolanError {
  return unknownItem("PROMPT_NOT_FOUND", "prompt", about);
}

export function unknownResource(about: UnknownTool): PortolanError {
  return unknownItem("RESOURCE_NOT_FOUND", "resource", about, { uri: about.name });
}

function unknownItem(
  code: "TOOL_NOT_FOUND" | "PROMPT_NOT_FOUND" | "RESOURCE_NOT_FOUND",
  noun: string,
  { server, name, known, listed, reason, cause }: UnknownTool,
  data?: Readonly<Record<string, unknown>>,
): PortolanError {
  const names = [...new Set(known)];
  const owner = server === undefined ? "No server has a" : `${server} has no`;
  const suggestions = suggest(name, names);
  return new PortolanError(code, `${owner} ${noun} ${quoted(name)}.`, {
    ...{ server, cause, data: withSuggestions(suggestions, data) },
    tool: noun === "tool" ? name.slice(0, MAX_NAME) : undefined,
    hint:
      reason ??
      askAbout(suggestions) ??
      (names.length === 0
        ? `${server === undefined ? "No server" : server} has ${server === undefined ? "any" : "no"} ${noun}s.`
        : there(listed ?? names)),
  });
}

export interface InvalidArguments {
  readonly server?: string;
  readonly tool: string;
  /** Each is a field and what is wrong with it: `title is required`. */
  readonly problems: readonly string[];
  readonly hint?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export function invalidArguments({ server, tool, problems, hint, data }: InvalidArguments): PortolanError {
  const message = invalidArgumentsText(tool, problems);
  return new PortolanError("INPUT_INVALID", message, { server, tool, hint, data });
}

/** The same as text, for a tool result that reports it to a model. */
export function invalidArgumentsText(tool: string, problems: readonly string[]): string {
  const lines = [...new Set(problems)];
  const [first = "unknown"] = lines;
  const about = `The arguments of ${tool.slice(0, MAX_NAME)} are not valid:`;
  return lines.length === 1 ? `${about} ${first}` : `${about}\n- ${lines.join("\n- ")}`;
}

export interface MissingValue {
  readonly name: string;
  /** Where it is needed: `env.TOKEN`. */
  readonly places?: readonly string[];
  /** The step that sets it; the default is the command that stores it. */
  readonly step?: string;
}

/** Sentence and hint for secrets without a value. */
export function missingSecrets(missing: readonly MissingValue[]): {
  readonly message: string;
  readonly hint: string;
} {
  const names = missing.map(({ name, places = [] }) =>
    places.length === 0 ? name : `${name} (for ${places.join(", ")})`,
  );
  const steps = new Set(missing.map(({ name, step }) => step ?? `portolan secrets set ${name}`));
  const them = names.length === 1 ? "it" : "them";
  const isStored = missing.every(({ step }) => step === undefined);
  return {
    message: `${names.length === 1 ? "A secret is" : "Secrets are"} missing: ${names.join("; ")}.`,
    hint: `Set ${them}: ${[...steps].join("; ")}${isStored ? `, or define ${them} in the environment of Portolan` : ""}.`,
  };
}

const LISTENING: Readonly<Record<string, readonly [string, string]>> = {
  EADDRINUSE: [
    "the port is in use",
    "Another program uses this port. Choose another port: --port 0 chooses a free one.",
  ],
  EACCES: [
    "permission denied",
    "Ports below 1024 need administrator rights; choose a higher one with --port.",
  ],
  EADDRNOTAVAIL: [
    "this computer does not have that address",
    "Use --host 127.0.0.1 to accept connections from this computer only, or --host 0.0.0.0 to accept them at every address of this computer.",
  ],
  ENOTFOUND: ["there is no such host", "Give an address of this computer: --host 127.0.0.1"],
};

/** An address at which nothing can listen, such as a port in use. `inProgram`: the hint names settings in place of options. */
export function cannotListen(
  host: string,
  port: number,
  cause: NodeJS.ErrnoException,
  { inProgram = false, why }: { readonly inProgram?: boolean; readonly why?: string } = {},
): PortolanError {
  const [usual, text] = LISTENING[cause.code ?? ""] ?? [cause.message, "Check --host and --port."];
  const toSetting = (_option: string, name: string, value?: string): string =>
    value === undefined ? `settings.${name}` : `settings.${name}: ${value}`;
  const hint = inProgram ? text.replaceAll(/--(host|port)(?: ([\d.]+))?/g, toSetting) : text;
  return new PortolanError("CONFIG_INVALID", `Cannot listen at ${host}:${port}: ${why ?? usual}.`, {
    hint,
    cause,
  });
}

/** A folder or file without any server. `place` is as the user would write it. */
export function noServers(place: string): PortolanError {
  return new PortolanError("SERVER_UNKNOWN", `There are no servers in ${place}.`, {
    hint: "In that folder, add one: portolan add <name> -- <command...>, or portolan add <name> <url>",
  });
}

/** A package that its registry does not have. `spec` is its name, with a version if one is wanted. */
export function packageNotFound(
  spec: string,
  registry: string,
  login = "npm login",
): { readonly message: string; readonly hint: string } {
  return {
    message: `The package ${spec.slice(0, MAX_NAME)} was not found in ${registry}`,
    hint: `Check the name of the package. For a private package, log in first: ${login}`,
  };
}

function there(names: readonly string[]): string {
  return `There ${names.length === 1 ? "is" : "are"}: ${names.slice(0, MAX_LISTED).join(", ")}${names.length > MAX_LISTED ? ", …" : ""}.`;
}

/** Adds the similar names to the data of an error, for programs; at most three. */
function withSuggestions(
  suggestions: readonly string[],
  data: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return suggestions.length === 0 ? data : { ...data, suggestions };
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, MAX_NAME));
}
