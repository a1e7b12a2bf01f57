// Runs the npm of this Node installation: its JavaScript file, without a shell or a shim, and with a reduced
// environment.

import { access, readFile, realpath, mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { searchFolders } from "../../base/process/program-path.ts";
import { lastWords } from "../../base/text/truncate.ts";
import { machineFault, PortolanError } from "../../errors/index.ts";
import { childEnvironment, type Program, type RunningProgram, startProgram } from "../../process/index.ts";
import { createRedactor, Secret } from "../../secrets/index.ts";
import { watchNetwork } from "./network.ts";

export interface NpmRun {
  readonly args: readonly string[];
  readonly cwd: string;
  /** The folders that npm may write. */
  readonly writable: readonly string[];
  readonly signal?: AbortSignal;
  /** Replaces this process's own environment. */
  readonly env?: NodeJS.ProcessEnv;
}

export interface NpmEnd {
  readonly code: number | null;
  /** npm's own message, with credentials redacted. */
  readonly reason: string;
  /** npm's error code, such as E404 or ENOSPC. */
  readonly kind: string | undefined;
  /** Everything that npm printed. It may have credentials. */
  readonly output: string;
}

const MOST_OUTPUT = 64 * 1024;
const REASON_LINES = 8;
const REASON_CHARACTERS = 1_500;
/**
 * Settings about the connection to registries. Other settings of the user or of an outer npm do not apply to these
 * installations.
 */
const SETTINGS =
  /^npm_config_(?:registry|userconfig|globalconfig|cache|proxy|https?_proxy|no_?proxy|ca|cafile|certfile|keyfile|cert|key|strict_ssl|local_address|maxsockets|fetch_\w+|offline|prefer_offline|prefer_online|before|min_release_age|replace_registry_host|always_auth|_auth|_?auth_?token|username|_password|email|.*[:/].*)$/i;
const CONNECTION = /^(?:https?_proxy|no_proxy|all_proxy|node_extra_ca_certs|ssl_cert_(?:file|dir))$/i;
/** Lines without information: stack traces, fields of error objects, the path of the log. */
const NOISE =
  /^(?:\s+(?:at |\w+: )|\}|(?:code|errno|syscall) \S+$|npm (?:warn|http) |A complete log of|Log files were not|Note that you can also install from a|tarball, folder, http url, or git|or one of the)/i;
/** The code at the start of each error line, except for the line of the request itself. */
const LINE_CODE = /^(?:[45]\d\d(?!.* - (?:GET|PUT|POST) )|notarget|enoent|eresolve)(?:\s+|$)/i;
const CREDENTIAL = /auth|token|password|secret|_key$/i;

/** Undefined if there is no npm beside Node and none on the PATH. */
export async function findNpm(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  const node = await realpath(process.execPath).catch(() => process.execPath);
  const places = [process.execPath, node]
    .map(dirname)
    .flatMap((folder) => [
      join(folder, "../lib/node_modules/npm/bin/npm-cli.js"),
      join(folder, "node_modules/npm/bin/npm-cli.js"),
    ]);
  for (const folder of searchFolders(env.PATH)) {
    const npm = await realpath(join(folder, "npm")).catch(() => undefined);
    if (npm?.endsWith("npm-cli.js") === true) places.push(npm);
    places.push(join(folder, "node_modules/npm/bin/npm-cli.js"));
  }
  for (const place of places) if (await exists(place)) return place;
  return undefined;
}

export async function runNpm({ args, cwd, writable, signal, env = process.env }: NpmRun): Promise<NpmEnd> {
  const npm = await findNpm(env);
  if (npm === undefined)
    throw new PortolanError("INSTALL_FAILED", "npm was not found.", {
      hint: "Portolan looks for npm next to node, and in the folders of PATH. Install Node.js with npm, or add the folder of npm to PATH.",
    });
  const npmrc = await readUserSettings(env);
  const environment = npmEnvironment(env, npmrc);
  const guard = await guardWords(writable);
  signal?.throwIfAborted();
  const words = [...guard, npm, ...args];
  const program = { file: process.execPath, args: words, cwd, env: environment };
  const { code, output, lost } = await run(program, signal);
  if (lost !== undefined)
    return { code, output, kind: lost, reason: `the network did not respond (${lost})` };
  const kind = /^npm (?:error|ERR!) code (\w+)/m.exec(output)?.[1];
  return { code, output, kind, reason: reasonOf(output, environment, npmrc) };
}

async function run(
  program: Program,
  signal: AbortSignal | undefined,
): Promise<{ code: number | null; output: string; lost: string | undefined }> {
  let output = "";
  let npm: RunningProgram | undefined;
  const network = watchNetwork(() => npm?.kill());
  const keep = (chunk: Buffer): void => {
    const text = chunk.toString("utf8");
    output = (output + text).slice(-MOST_OUTPUT);
    network.heard(text);
  };
  try {
    // Portolan writes nothing to stdin: while it is open, the guard knows that Portolan is alive.
    npm = await startProgram(program, { stdin: "open", stdout: keep, stderr: keep }).catch(
      (cause: NodeJS.ErrnoException) => {
        throw new PortolanError("INSTALL_FAILED", `npm could not be started: ${cause.message}`, {
          cause,
          data: { reason: cause.code ?? "unknown" },
          hint: machineFault(cause)?.hint ?? "Check that npm works on this machine: npm --version.",
        });
      },
    );
    const { code } = await npm.wait({ signal });
    return { code, output, lost: network.lost() };
  } finally {
    network.end();
  }
}

/** Includes the variables that the user's .npmrc refers to, which a private registry may need. */
function npmEnvironment(env: NodeJS.ProcessEnv, npmrc: string): Record<string, string> {
  const named = new Set(Array.from(npmrc.matchAll(/\$\{(\w+)\??\}/g), ([, name]) => name));
  const chosen: Record<string, string> = {
    // npm's default pauses between attempts are too long for a user who waits.
    npm_config_fetch_retry_mintimeout: "1000",
    npm_config_fetch_retry_maxtimeout: "4000",
    // The default timeout is five minutes.
    npm_config_fetch_timeout: "30000",
  };
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || name === "NODE_OPTIONS") continue;
    if (SETTINGS.test(name) || CONNECTION.test(name) || named.has(name)) chosen[name] = value;
  }
  for (const name of ["HOME", "PATH", "TMPDIR"]) if (env[name] !== undefined) chosen[name] = env[name];
  return childEnvironment(chosen);
}

/** The package, or the version, does not exist. `kind` is the code of npm. */
export function isMissingPackage(kind: string | undefined): boolean {
  return kind === "E404" || kind === "ETARGET";
}

export async function readUserSettings(env: NodeJS.ProcessEnv): Promise<string> {
  const file =
    env.npm_config_userconfig ?? env.NPM_CONFIG_USERCONFIG ?? join(env.HOME ?? homedir(), ".npmrc");
  return readFile(file, "utf8").catch(() => "");
}

function reasonOf(output: string, env: Readonly<Record<string, string>>, npmrc: string): string {
  const redactor = createRedactor();
  for (const [name, value] of Object.entries(env)) if (CREDENTIAL.test(name)) redactor.add(new Secret(value));
  for (const [, value = ""] of npmrc.matchAll(/^[^=\n]*(?:auth|token|password)[^=\n]*=\s*(.+?)\s*$/gim))
    redactor.add(new Secret(value.replace(/^"|"$/g, "")));
  const lines = output
    .split("\n")
    .map((line) =>
      line
        .replace(/^npm (?:error|ERR!)\s?/, "")
        .replace(LINE_CODE, "")
        .trimEnd(),
    )
    .filter((line) => line !== "" && !NOISE.test(line));
  const text = lines.slice(-REASON_LINES).join("\n");
  return lastWords(
    redactor
      .redactText(text)
      .replace(/(\/\/)[^/\s@]+@/g, "$1[redacted]@")
      .replace(/\bnpm_[A-Za-z0-9]{20,}/g, "[redacted]")
      .replace(/\b(Bearer|Basic)\s+\S+/gi, "$1 [redacted]"),
    REASON_CHARACTERS,
  );
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Ends npm when Portolan ends, because its stdin is then closed. */
const LEASH = 'process.stdin.on("end",()=>process.exit(1)).on("error",()=>process.exit(1)).resume().unref()';

/**
 * Restricts npm with Node's permission model: it may start no program and write only these folders. Older versions
 * of npm run the build scripts of git dependencies even with `--ignore-scripts`. Options of Node. Missing folders
 * are created.
 */
export async function guardWords(writable: readonly string[]): Promise<string[]> {
  const flag = ["--permission", "--experimental-permission"].find(knows);
  if (flag === undefined)
    throw new PortolanError(
      "INSTALL_FAILED",
      "This version of Node.js cannot prevent npm from running the scripts of packages, so Portolan does not run npm.",
      {
        hint: "Run portolan with Node.js 20.19 or later.",
      },
    );
  const folders = await Promise.all(writable.map(realFolder));
  // A star would match other folders too, and a repeated folder makes Node 20 crash.
  const writes = folders.some((path) => path.includes("*")) ? ["*"] : [...new Set(folders)];
  return [
    // Node would warn that the permission model is experimental.
    "--no-warnings",
    flag,
    "--allow-fs-read=*",
    ...writes.map((path) => `--allow-fs-write=${path}`),
    ...(knows("--allow-net") ? ["--allow-net"] : []),
    `--import=data:text/javascript,${encodeURIComponent(LEASH)}`,
  ];
}

function knows(flag: string): boolean {
  return process.allowedNodeEnvironmentFlags.has(flag);
}

/** Node compares paths as text, and npm writes real paths. */
async function realFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o755 });
  return realpath(path);
}
