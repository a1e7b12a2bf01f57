// `portolan add`: adds a server to the workspace's portolan.yaml.

import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { parseClientFile } from "../../formats/clients/index.ts";
import { definedOnly, filled } from "../../formats/manifest/index.ts";
import { addServer, type ServerFields } from "../../formats/workspace/index.ts";
import { isReferenceName, type PackageReference, parsePackageReference } from "../../model/index.ts";
import { shellWord } from "../../base/text/command-line.ts";
import type { Cli, Words } from "../context.ts";
import { applyToGateways } from "../control/apply.ts";
import { withNoticedFields } from "../grants/noticed-fields.ts";
import { secretName } from "../import/secrets.ts";
import { parseServerOptions } from "../options/parse.ts";
import { givenSandboxFlags, networkOf, type SandboxOptions } from "../options/sandbox.ts";
import { refuseBothSides, throwUsageErrors } from "../options/usage-error.ts";
import type { UrlServer } from "../login/url-server.ts";
import type { RawPackageOptions } from "../packages/add.ts";
import { hasScheme, splitWords } from "../target/target.ts";
import { findWorkspace } from "../workspace/folder.ts";
import { loadSource } from "../workspace/source.ts";
import { editWorkspaceFile } from "./workspace-file.ts";

export interface AddOptions extends RawPackageOptions {
  start?: string;
  dryRun?: boolean;
  strict?: boolean;
}

export async function add(cli: Cli, words: Words, options: AddOptions): Promise<number> {
  const { output } = cli;
  const [alias, ...rest] = words.words;
  if (alias === undefined)
    throw new PortolanError("USAGE", "No name is given.", {
      hint: "portolan add <name> -- <command...>, portolan add <name> <url>, or portolan add <package>",
    });
  const found = packageIn(words);
  if (found !== undefined) {
    refuseServerOptions(options);
    const { addPackage } = await import("../packages/add.ts");
    return addPackage(cli, found.reference, options, found.alias);
  }
  refusePackageOptions(options);
  const typed = toFields(alias, rest, words.server, options, cli);
  const command = [typed.command ?? "", ...(typed.args ?? [])].map(shellWord).join(" ");
  const again = (flags: string): string => `portolan add ${alias} ${flags} -- ${command}`;
  const isNew = options.strict === true || options.dryRun === true;
  const { folder } = await findWorkspace(cli.io, { workspace: cli.options.workspace });
  const { fields, prepare } = await withNoticedFields(cli, {
    ...{ alias, fields: typed, folder, strict: options.strict === true, asks: options.dryRun !== true },
    how: isNew ? again : undefined,
    again: isNew ? again : (flags) => `portolan remove ${alias} && ${again(flags)}`,
  });
  const before = options.dryRun === true ? undefined : await knownElsewhere(cli, alias);
  if (options.dryRun !== true) await prepare?.();
  const changed = await editWorkspaceFile(cli, options.dryRun === true, ({ text }) =>
    addServer(text, alias, fields),
  );
  const warnings = [...findSecrets(alias, fields), ...(before === undefined ? [] : [before])];
  for (const { message, hint } of warnings)
    output.note(`${output.noteColors.yellow("warning")} ${message}. ${hint ?? ""}`.trim());
  const { file, label, after, text } = changed;
  const applied = options.dryRun === true ? undefined : await applyToGateways(cli, alias);
  const added = options.dryRun === true ? undefined : urlServer(alias, fields, file);
  const { findLoginCommand, offerLogin } = await import("../login/server-login.ts");
  const login = added && (await findLoginCommand(cli, added));
  if (output.form === "json") {
    const written = options.dryRun !== true;
    output.json({
      ...{ file, server: alias, written, ...(written ? {} : { text: after }), diagnostics: warnings },
      login: login && { needed: true, command: login },
      ...applied?.fields,
    });
  } else if (options.dryRun === true) output.print(after);
  else {
    const what =
      text === undefined ? `Created ${label} with the server ${alias}.` : `Added ${alias} to ${label}.`;
    output.print(what);
    if (applied?.fields.gateways === undefined)
      output.print(output.colors.dim(`See its state: portolan status ${alias}`));
    applied?.print();
    if (added !== undefined && login !== undefined) await offerLogin(cli, added, login);
  }
  return applied?.code ?? 0;
}

function urlServer(
  alias: string,
  { url, headers, transport }: ServerFields,
  file: string,
): UrlServer | undefined {
  if (url === undefined) return undefined;
  return { alias, file, endpoint: { transport: transport === "sse" ? "sse" : "http", url, headers } };
}

/** `add @user/name`, or `add name @user/name`. Undefined for a command or a URL. */
function packageIn({
  words,
  server,
}: Words): { readonly reference: PackageReference; readonly alias: string | undefined } | undefined {
  const spec = words.at(-1);
  if (server !== undefined || spec === undefined || words.length > 2) return undefined;
  // A name of a server has no slash and no colon; a package has one of them. After a name, a/b is the path of a program.
  const isOfficial = words.length === 1 ? /^[\w-][\w.-]*\/[\w.-]+(@|$)/ : /^[\w.-]+\.[\w-]+\/[\w.-]+(@|$)/;
  if (!spec.startsWith("@") && !isOfficial.test(spec) && !spec.startsWith("mcpb:")) return undefined;
  const reference = parsePackageReference(spec);
  if (typeof reference === "string")
    throw new PortolanError("USAGE", `${reference}.`, {
      hint: "Write @user/name in lower case, or mcpb: and a file or URL.",
    });
  return { reference, alias: words.length === 2 ? words[0] : undefined };
}

function refuseServerOptions({ env, header, transport, era, cwd, start }: AddOptions): void {
  const given = Object.entries({ env, header, transport, era, cwd, start })
    .filter(([, value]) => value !== undefined)
    .map(([name]) => `--${name} is for commands and URLs; a package takes --config`);
  throwUsageErrors(given);
}

function refusePackageOptions({
  name,
  yes,
  allow,
  config,
  configFile,
  registry,
  from,
  allowLookAlike,
}: AddOptions): void {
  const options = {
    name,
    yes,
    allow,
    config,
    "config-file": configFile,
    registry,
    from,
    "allow-look-alike": allowLookAlike,
  };
  const given = Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([option]) => `--${option} is for packages`);
  throwUsageErrors(given);
}

function toFields(
  alias: string,
  rest: readonly string[],
  server: readonly string[] | undefined,
  options: AddOptions,
  cli: Cli,
): ServerFields {
  const [place, extra] = rest;
  const example = `portolan add ${alias} -- <command...>, or portolan add ${alias} <url>`;
  refuseBothSides(rest, server, "server");
  if (extra !== undefined)
    throw new PortolanError(
      "USAGE",
      `add takes a name and a server; unexpected argument ${JSON.stringify(extra)}.`,
      {
        hint: `Write a command after --: ${example}`,
      },
    );
  const isUrl = place !== undefined && hasScheme(place);
  const command =
    server ?? (isUrl || place === undefined ? [] : splitWords(place, cli.io.platform === "win32"));
  const [program, ...args] = command;
  if (!isUrl && (program === undefined || program === ""))
    throw new PortolanError("USAGE", "No command and no URL are given.", { hint: example });
  const problems: string[] = [];
  const { env: variables = [], cwd, ...others } = options;
  // The file refers to a variable by name; its value is not copied.
  const env = toEnv(variables, problems);
  const { headers, transport, era, sandbox } = parseServerOptions(others, {});
  if (options.start !== undefined && options.start !== "lazy" && options.start !== "eager")
    problems.push(`--start must be eager or lazy, got ${JSON.stringify(options.start)}`);
  if (isUrl && Object.keys(env).length > 0) problems.push("--env is for commands; a URL takes --header");
  if (isUrl && cwd !== undefined) problems.push("--cwd is for commands");
  if (!isUrl && Object.keys(headers).length > 0) problems.push("--header is for URLs; a command takes --env");
  if (!isUrl && transport !== undefined) problems.push("--transport is for URLs");
  if (isUrl)
    for (const flag of givenSandboxFlags(sandbox))
      problems.push(`${flag} is for commands; a server behind a URL runs elsewhere`);
  for (const [name, mode] of Object.entries(sandbox.modes))
    problems.push(`--sandbox ${name}=${mode} is for existing servers; here it is --sandbox ${mode}`);
  const network = networkOf(sandbox.network, problems);
  throwUsageErrors(problems);
  const common = { era, start: options.start as "eager" | "lazy" | undefined };
  if (isUrl)
    return definedOnly<ServerFields>({
      transport: transport === "http" ? "streamable-http" : transport,
      url: place.trim(),
      headers: filled(headers),
      ...common,
    });
  return definedOnly<ServerFields>({
    command: program,
    args: filled(args),
    env: filled(env),
    cwd,
    sandbox: sandboxField({ ...sandbox, network }),
    ...common,
  });
}

/** Paths stay as the user wrote them; the file resolves them from its own folder. */
function sandboxField({ mode, network, read, write }: SandboxOptions): ServerFields["sandbox"] {
  const fs = definedOnly<object>({ read: filled(read), write: filled(write) });
  const rules = filled(definedOnly<object>({ network: filled(network), fs: filled(fs) }));
  return rules === undefined || mode === undefined ? (rules ?? mode) : { mode, ...rules };
}

function toEnv(given: readonly string[], problems: string[]): Record<string, string> {
  const env: Record<string, string> = {};
  for (const text of given) {
    const equals = text.indexOf("=");
    const name = equals < 0 ? text : text.slice(0, equals);
    if (name === "" || (equals < 0 && !isReferenceName(name)))
      problems.push("--env must be NAME=value or NAME");
    else env[name] = equals < 0 ? `\${${name}}` : text.slice(equals + 1);
  }
  return env;
}

/** Finds literal secrets, by the same rules as in the config files of other clients. */
function findSecrets(alias: string, { command, args, env, url, headers }: ServerFields): Diagnostic[] {
  const entry = { command, args, env, url, headers };
  const text = JSON.stringify({ mcpServers: { [alias]: entry } });
  const found = parseClientFile(text, "mcp.json", "cursor")?.diagnostics ?? [];
  return found
    .filter(({ message }) => message.includes("looks like a secret"))
    .map(({ message, path }) => {
      const [name = ""] = message.split(" looks like");
      const reference = /^[A-Z][A-Z0-9_]*$/.test(name) ? name : secretName(alias, name);
      return {
        code: "FILE_INVALID" as const,
        severity: "warning" as const,
        server: alias,
        message: `${name} looks like a secret that is written out in the file`,
        path: path?.replace(/^\/mcpServers/, "/servers"),
        hint: `Write \${${reference}} in its place, and keep the value with: portolan secrets set ${reference}`,
      };
    });
}

/** Warns when the new server changes which servers are used. Errors in other files are not reported here. */
async function knownElsewhere(cli: Cli, alias: string): Promise<Diagnostic | undefined> {
  const source = await loadSource(cli).catch(() => undefined);
  const common = { code: "NAME_AMBIGUOUS" as const, severity: "warning" as const, server: alias };
  if (source?.kind === "clients" && source.config.servers.length > 0)
    return {
      ...common,
      message: "From now on the servers of this folder are used, and no longer those of other MCP clients",
      hint: "portolan import --write copies them here.",
    };
  const other = source?.config.servers.find((server) => server.alias === alias);
  if (other === undefined || other.origin.format === "workspace") return undefined;
  return {
    ...common,
    message: `${alias} is also in ${other.origin.file}:${other.origin.line}; from now on this one is used`,
  };
}
