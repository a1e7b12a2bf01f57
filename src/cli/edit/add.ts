// `portolan add`: adds a server to the workspace's portolan.yaml.

import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { definedOnly, filled } from "../../formats/manifest/index.ts";
import { addServer, type ServerFields } from "../../formats/workspace/index.ts";
import {
  isReferenceName,
  type PackageReference,
  parsePackageReference,
  parseReferences,
} from "../../model/index.ts";
import { shellWord } from "../../base/text/command-line.ts";
import type { Cli, Words } from "../context.ts";
import { applyToGateways } from "../control/apply.ts";
import { withNoticedFields } from "../grants/noticed-fields.ts";
import { openGrantsOfNew, printOpenGrants } from "../grants/open-grants.ts";
import { absolutePath } from "../grants/paths.ts";
import { refusedPath } from "../grants/refused-path.ts";
import { wideGrant } from "../grants/wide-grants.ts";
import { describeStored } from "../import/view.ts";
import { parseServerOptions } from "../options/parse.ts";
import { givenSandboxFlags, networkOf, type SandboxOptions } from "../options/sandbox.ts";
import { notAllowed, refuseBothSides, throwUsageErrors } from "../options/usage-error.ts";
import type { UrlServer } from "../login/url-server.ts";
import type { RawPackageOptions } from "../packages/add.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { hasScheme, splitWords } from "../target/target.ts";
import { addedHereNote, optionFor } from "../workspace/elsewhere.ts";
import { computerOf, findWorkspace, workspaceFolder } from "../workspace/folder.ts";
import { loadSource } from "../workspace/source.ts";
import { findSecrets, placeSecretsOf } from "./plain-secrets.ts";
import { editWorkspaceFile } from "./workspace-file.ts";

export interface AddOptions extends RawPackageOptions {
  start?: string;
  dryRun?: boolean;
  strict?: boolean;
}

/** Before the name of an npm package, in place of a command. */
const NPM = "npm:";

export async function add(cli: Cli, words: Words, options: AddOptions): Promise<number> {
  const { output } = cli;
  const [alias, ...rest] = words.words;
  if (alias === undefined)
    throw new PortolanError("USAGE", "Neither a name nor a package was given.", {
      hint: "portolan add <name> -- <command...>, portolan add <name> <url>, portolan add <name> npm:<npm package>, or portolan add @user/<package>",
    });
  const found = packageIn(words);
  if (found !== undefined) {
    refuseServerOptions(options);
    const { addPackage } = await import("../packages/add.ts");
    return addPackage(cli, found.reference, options, found.alias);
  }
  refusePackageOptions(options);
  const typed = await toFields(alias, rest, words.server, options, cli);
  const program = typed.npm === undefined ? (typed.command ?? "") : `${NPM}${typed.npm}`;
  const command = [program, ...(typed.args ?? [])].map(shellWord).join(" ");
  const again = (flags: string): string => `portolan add ${alias} ${flags} -- ${command}`;
  const isNew = options.strict === true || options.dryRun === true;
  const { folder, path } = await findWorkspace(cli.io, { workspace: cli.options.workspace });
  // A name that is taken is an error before any question.
  await editWorkspaceFile(cli, true, ({ text }) => addServer(text, alias, typed));
  const secrets = options.dryRun === true ? { fields: typed } : await placeSecretsOf(cli, alias, typed);
  const { fields, prepare } = await withNoticedFields(cli, {
    ...{
      alias,
      fields: secrets.fields,
      plain: typed,
      folder,
      strict: options.strict === true,
      asks: options.dryRun !== true,
    },
    how: isNew ? again : undefined,
    // The last lines of the command report what is still not granted.
    notes: options.dryRun === true,
  });
  const before = options.dryRun === true ? undefined : await knownElsewhere(cli, alias);
  const stored = await secrets.store?.();
  if (options.dryRun !== true) await prepare?.();
  const changed = await editWorkspaceFile(cli, options.dryRun === true, ({ text }) =>
    addServer(text, alias, fields),
  );
  const warnings = [
    ...findSecrets(alias, fields),
    ...findWideGrants(alias, fields, cli, options.dryRun === true),
    ...(before === undefined ? [] : [before]),
  ];
  const { file, label, after, text } = changed;
  const applied = options.dryRun === true ? undefined : await applyToGateways(cli, alias);
  const added = options.dryRun === true ? undefined : urlServer(alias, fields, file);
  const grants =
    options.dryRun === true
      ? []
      : await openGrantsOfNew(cli, { file, text: after, aliases: [alias] }, folder);
  // A gateway that runs has tried to start the server, and reports its error.
  const isTried = applied?.fields.gateways !== undefined;
  warnings.push(...(await checkNewProgram(alias, { file, text: after, folder, isTried })));
  const { findLoginCommand, offerLogin } = await import("../login/server-login.ts");
  const login = added && (await findLoginCommand(cli, added));
  if (output.form === "json") {
    const written = options.dryRun !== true;
    output.json({
      ...{ file, server: alias, written, ...(written ? {} : { text: after }), diagnostics: warnings },
      login: login && { needed: true, command: login },
      needsGrant: filled(grants),
      ...applied?.fields,
    });
  } else if (options.dryRun === true) output.print(after);
  else {
    const what =
      text === undefined ? `Created ${label} with the server ${alias}.` : `Added ${alias} to ${label}.`;
    output.print(what);
    if (stored !== undefined) output.print(describeStored(stored));
    for (const name of secretsWithoutVariable(fields, cli).filter((one) => !stored?.names.includes(one)))
      output.print(output.colors.dim(`If ${name} has no value yet: portolan secrets set ${name}`));
    if (applied?.fields.gateways === undefined)
      output.print(
        output.colors.dim(
          `To start and check the server: portolan status ${alias}${optionFor(folder, cli.io)}`,
        ),
      );
    applied?.print();
  }
  for (const { severity, message, hint } of warnings) {
    const { yellow, cyan } = output.noteColors;
    const word = severity === "info" ? cyan("note") : yellow("warning");
    output.note(`${word} ${message}. ${hint ?? ""}`.trim());
  }
  // With -w, the user has chosen the workspace.
  const isChosen = cli.options.workspace !== undefined || options.dryRun === true;
  const note = text === undefined && !isChosen ? await addedHereNote(cli.io, path, alias) : undefined;
  if (note !== undefined) output.note(output.noteColors.yellow(note));
  printOpenGrants(cli, grants);
  if (output.form === "text" && added !== undefined && login !== undefined)
    await offerLogin(cli, added, login);
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
      hint: "Write @user/name in lower case, or mcpb:<file or URL>.",
    });
  return { reference, alias: words.length === 2 ? words[0] : undefined };
}

function refuseServerOptions({ env, header, transport, era, cwd, start }: AddOptions): void {
  const given = Object.entries({ env, header, transport, era, cwd, start })
    .filter(([, value]) => value !== undefined)
    .map(
      ([name]) => `--${name} cannot be used with a package. To set an option of the package, use --config`,
    );
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
    .map(([option]) => `--${option} is only for packages of a registry and MCPB bundles`);
  throwUsageErrors(given);
}

/** Programs that start servers: as the first word, one of them is a command, and the name of the server is missing. */
const RUNNERS: ReadonlySet<string> = new Set(
  "npx npm pnpm yarn bun bunx node deno uv uvx pipx python python3 docker podman".split(" "),
);

function separateCommand(alias: string, rest: readonly string[]): string {
  const line = (words: readonly string[]): string => plainLine(words.map(shellWord).join(" "), 300);
  if (RUNNERS.has(alias))
    return `Write a name for the server, then -- and its command: portolan add <name> -- ${line([alias, ...rest])}`;
  const [place = ""] = rest;
  return hasScheme(place)
    ? `A URL takes no arguments: portolan add ${line([alias, place])}`
    : `Write the command after --: portolan add ${line([alias])} -- ${line(rest)}`;
}

async function toFields(
  alias: string,
  rest: readonly string[],
  server: readonly string[] | undefined,
  options: AddOptions,
  cli: Cli,
): Promise<ServerFields> {
  const [place, extra] = rest;
  const example = `portolan add ${alias} -- <command...>, or portolan add ${alias} <url>`;
  refuseBothSides(rest, server, "server");
  if (extra !== undefined)
    throw new PortolanError(
      "USAGE",
      `add takes a name and a server; unexpected argument ${JSON.stringify(extra)}.`,
      { hint: separateCommand(alias, rest) },
    );
  const isUrl = place !== undefined && hasScheme(place);
  const command =
    server ?? (isUrl || place === undefined ? [] : splitWords(place, cli.io.platform === "win32"));
  const [program, ...args] = command;
  if (program === undefined && !isUrl && (alias.startsWith(NPM) || hasScheme(alias)))
    throw new PortolanError(
      "USAGE",
      `The name of the server is missing before the ${alias.startsWith(NPM) ? "npm package" : "URL"}.`,
      { hint: `portolan add <name> ${shellWord(alias)}` },
    );
  if (!isUrl && (program === undefined || program === ""))
    throw new PortolanError("USAGE", "Neither a command nor a URL was given.", { hint: example });
  const problems: string[] = [];
  const { env: variables = [], cwd, ...others } = options;
  // The file refers to a variable by name; its value is not copied.
  const env = toEnv(variables, problems);
  const { headers, transport, era, sandbox } = parseServerOptions(others, {});
  if (options.start !== undefined && options.start !== "lazy" && options.start !== "eager")
    problems.push(notAllowed("--start", options.start, ["eager", "lazy"]));
  if (isUrl && Object.keys(env).length > 0)
    problems.push("--env is only for commands. For a URL, use --header");
  if (isUrl && cwd !== undefined) problems.push("--cwd is only for commands");
  if (!isUrl && Object.keys(headers).length > 0)
    problems.push("--header is only for URLs. For a command, use --env");
  if (!isUrl && transport !== undefined) problems.push("--transport is only for URLs");
  if (isUrl)
    for (const flag of givenSandboxFlags(sandbox))
      problems.push(`${flag} is only for commands. A server behind a URL does not run on this machine`);
  for (const [name, mode] of Object.entries(sandbox.modes))
    problems.push(
      `--sandbox ${name}=${mode} is only for existing servers. For the new server, write --sandbox ${mode}`,
    );
  const { home } = computerOf(cli.io, cli.io.cwd);
  const folder = workspaceFolder(cli.io, { workspace: cli.options.workspace });
  for (const flag of ["read", "write"] as const)
    for (const path of sandbox[flag]) {
      const refused = await refusedPath(cli, flag, absolutePath(path, folder, home));
      if (refused !== undefined) problems.push(`--allow-${flag} ${path} cannot be granted: ${refused}`);
    }
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
    ...(program?.startsWith(NPM) === true ? { npm: program.slice(NPM.length) } : { command: program }),
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

/** Finds grants of the whole home folder, or of keys and tokens. */
function findWideGrants(alias: string, { sandbox }: ServerFields, cli: Cli, isDry: boolean): Diagnostic[] {
  const { home } = computerOf(cli.io, cli.io.cwd);
  const folder = workspaceFolder(cli.io, { workspace: cli.options.workspace });
  const { read = [], write = [] } = (typeof sandbox === "object" ? sandbox.fs : undefined) ?? {};
  const found = [
    ...read.map((path) => ["read", path] as const),
    ...write.map((path) => ["write", path] as const),
  ];
  return found.flatMap(([access, path]) => {
    const wide = wideGrant({ alias, access, path: absolutePath(path, folder, home), home, isDry });
    return wide === undefined
      ? []
      : [{ code: "CONFIG_INVALID", severity: "warning", server: alias, ...wide }];
  });
}

/** Warns if the new server could not start here, and notes that it can read the whole folder of the workspace. */
async function checkNewProgram(
  alias: string,
  given: { readonly file: string; readonly text: string; readonly folder: string; readonly isTried: boolean },
): Promise<Diagnostic[]> {
  const { file, text, folder, isTried } = given;
  const { parseWorkspace } = await import("../../formats/workspace/index.ts");
  const { checkProgram, checkProgramFolder } = await import("../../launch/index.ts");
  const server = parseWorkspace(text, file).servers.find((one) => one.alias === alias);
  if (server === undefined) return [];
  const error = isTried ? undefined : await checkProgram(server, folder);
  if (error === undefined) return checkProgramFolder(server, folder).catch(() => []);
  const { code, hint } = error;
  const message = `The server ${alias} could not start on this computer: ${error.message}`;
  return [{ code, severity: "warning", server: alias, message, hint }];
}

/** The secrets that the new server refers to, except those that a variable of this process has. */
function secretsWithoutVariable({ args = [], env, url = "", headers }: ServerFields, { io }: Cli): string[] {
  const texts = [...args, ...Object.values(env ?? {}), url, ...Object.values(headers ?? {})];
  const names = texts.flatMap((text) =>
    parseReferences(text).parts.flatMap((part) =>
      (part.kind === "any" || part.kind === "secret") && part.fallback === undefined ? [part.name] : [],
    ),
  );
  return [...new Set(names)].filter((name) => io.env[name] === undefined);
}

/** Warns when the new server changes which servers are used. Errors in other files are not reported here. */
async function knownElsewhere(cli: Cli, alias: string): Promise<Diagnostic | undefined> {
  const source = await loadSource(cli).catch(() => undefined);
  const common = { code: "NAME_AMBIGUOUS" as const, severity: "warning" as const, server: alias };
  if (source?.kind === "clients" && source.config.servers.length > 0)
    return {
      ...common,
      message:
        "In this workspace, Portolan now uses only the servers of the workspace's config files, and no longer the servers of other MCP clients",
      hint: "To copy the servers of the other MCP clients into portolan.yaml: portolan import --write",
    };
  const other = source?.config.servers.find((server) => server.alias === alias);
  if (other === undefined || other.origin.format === "workspace") return undefined;
  return {
    ...common,
    message: `${alias} is also in ${other.origin.file}:${other.origin.line}. Portolan now uses the new server, and no longer the server in that file`,
  };
}
