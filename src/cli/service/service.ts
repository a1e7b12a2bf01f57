// `portolan service install | uninstall | status`: the gateway of a workspace as a service of the user.

import { mkdir, readFile, realpath, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { logFolder, type RunningGateway } from "../../control/index.ts";
import { noServers, PortolanError } from "../../errors/index.ts";
import { programWords, thisProgram } from "../connect/gateway-server.ts";
import type { Cli } from "../context.ts";
import { parseServeOptions, type RawServeOptions } from "../serve/options.ts";
import type { SecretNeed } from "../secrets/needs.ts";
import { missingForService, notePassphraseFile, PASSPHRASE_FILE } from "../secrets/vault-of-gateway.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { optionFor } from "../workspace/elsewhere.ts";
import { findWorkspace, pathLabeller } from "../workspace/folder.ts";
import { gatewayLabel, toGatewayField } from "../workspace/running.ts";
import { loadSource, requireServer, type Source } from "../workspace/source.ts";
import { type ServiceDefinition, serviceName } from "./definition.ts";
import { lingerHint, runAll, runManager, serviceManager } from "./manager.ts";

export interface RawServiceOptions extends RawServeOptions {
  print?: boolean;
  passphraseFile?: string;
}

/** Variables that the programs of servers need, and that a service manager does not set. */
const KEPT = ["PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"];
const READY_MS = 30_000;
const POLL_MS = 100;

export async function install(cli: Cli, raw: RawServiceOptions): Promise<number> {
  const { io, output } = cli;
  // All errors of the config files are shown here, and not in a log.
  const source = await loadSource(cli);
  const { config } = source;
  const manager = serviceManager(io);
  parseServeOptions(raw, io.cwd);
  for (const alias of raw.only ?? []) requireServer(source, alias);
  const service = await definitionOf(cli, serveWords(raw, io.cwd), raw.passphraseFile);
  const locked = await checkSecrets(cli, source, service, raw);
  const text = manager.text(service);
  if (raw.print === true) {
    if (locked !== undefined) output.note(`${locked.message} ${locked.hint ?? ""}`);
    io.stdout.write(text);
    return 0;
  }
  if (config.servers.length === 0) throw noServers(service.path);
  const file = manager.file(service.name);
  const before = await readFile(file, "utf8").catch(() => undefined);
  const [running] = (await io.findGateways(service.path)).gateways.filter(({ kind }) => kind === "http");
  const isTaken = running !== undefined && before === undefined;
  throwTogether([
    await runAll(io, [manager.check]).then(
      () => undefined,
      (thrown: unknown) => thrown as PortolanError,
    ),
    locked,
    !isTaken
      ? undefined
      : new PortolanError("USAGE", `A gateway of this workspace already runs ${gatewayLabel(running)}.`, {
          hint: `Stop the gateway first: portolan stop${optionFor(running.path, io)}`,
        }),
  ]);
  await mkdir(dirname(file), { recursive: true });
  // launchd opens the log before the gateway runs, and does not create its folder.
  await mkdir(dirname(service.log), { recursive: true, mode: 0o700 });
  await writeAtomic(file, Buffer.from(text), { mode: 0o644 });
  try {
    if (before !== undefined && before !== text) await runAll(io, manager.stop(service.name)).catch(() => {});
    await runAll(io, manager.start(service.name));
  } catch (error) {
    // A definition that cannot be started is not left behind.
    if (before === undefined) await rm(file, { force: true });
    else {
      await writeAtomic(file, Buffer.from(before), { mode: 0o644 });
      await runAll(io, manager.start(service.name)).then(
        () => output.note("The service runs again with its earlier definition."),
        (thrown: unknown) =>
          output.note(
            `The service is stopped: it does not start with its earlier definition either. ${(thrown as Error).message}`,
          ),
      );
    }
    throw error;
  }
  const gateway = await waitForGateway(cli, service.path);
  if (output.form === "json")
    output.json({ name: service.name, file, gateway: gateway && toGatewayField(gateway) });
  else
    output.print(
      [
        `Installed ${service.name} (${manager.title}): ${pathLabeller(io)(file)}`,
        gateway === undefined
          ? `The gateway is not ready yet. See its log: ${manager.logs(service)}`
          : `The gateway runs ${gatewayLabel(gateway)}. Its log: ${manager.logs(service)}`,
        ...(io.platform === "linux" ? lingerHint() : []),
      ].join("\n"),
    );
  return gateway === undefined ? 3 : 0;
}

/** Reports all obstacles at once, so that nobody stops a gateway before the next one shows. */
function throwTogether(found: readonly (PortolanError | undefined)[]): void {
  const obstacles = found.filter((one) => one !== undefined);
  const [first] = obstacles;
  if (first === undefined) return;
  throw new PortolanError(
    first.code,
    `The service was not installed. ${obstacles.map(({ message }) => message).join("\n")}`,
    { hint: obstacles.map(({ hint }) => hint ?? "").join("\n"), cause: first },
  );
}

export async function uninstall(cli: Cli): Promise<number> {
  const { io, output } = cli;
  const manager = serviceManager(io);
  const { name } = await definitionOf(cli);
  const file = manager.file(name);
  const exists = (await readFile(file, "utf8").catch(() => undefined)) !== undefined;
  if (exists) {
    await runAll(io, manager.stop(name)).catch((thrown: unknown) => output.note((thrown as Error).message));
    await rm(file, { force: true });
    await runAll(io, manager.removed).catch(() => {});
  }
  if (output.form === "json") output.json({ name, file, removed: exists });
  else output.print(exists ? `Removed the service ${name}.` : "There is no service for this workspace.");
  return 0;
}

export async function status(cli: Cli): Promise<number> {
  const { io, output } = cli;
  const manager = serviceManager(io);
  const service = await definitionOf(cli);
  const { name, path } = service;
  const file = manager.file(name);
  const text = await readFile(file, "utf8").catch(() => undefined);
  const [gateway] = (await io.findGateways(path)).gateways;
  const state = text === undefined ? undefined : await stateOf(cli, manager.state(name));
  if (output.form === "json") {
    const field = gateway && toGatewayField(gateway);
    output.json({ name, file, installed: text !== undefined, state, gateway: field });
  } else if (text === undefined) {
    output.print(
      `There is no service for this workspace. Install it: portolan service install${optionFor(path, io)}`,
    );
    if (gateway !== undefined) output.print(`A gateway that is not a service runs ${gatewayLabel(gateway)}.`);
  } else
    output.print(
      [
        `${name}: ${state}`,
        `  file     ${pathLabeller(io)(file)}${isCurrent(text, service) ? "" : ` (outdated; to replace it, run this command with the options of your last install: portolan service install${optionFor(path, io)})`}`,
        `  gateway  ${gateway === undefined ? "not running" : gatewayLabel(gateway)}`,
        `  log      ${manager.logs(service)}`,
      ].join("\n"),
    );
  return text !== undefined && gateway !== undefined ? 0 : 3;
}

/** A service has none of the terminal's variables, and nobody unlocks the vault for it. Returns the error if it could not open the vault. */
async function checkSecrets(
  { io, output }: Cli,
  { config }: Source,
  { env }: ServiceDefinition,
  { only }: RawServiceOptions,
): Promise<PortolanError | undefined> {
  await notePassphraseFile({ output }, env);
  const servers = config.servers.filter(({ alias }) => only?.includes(alias) !== false);
  const home = io.env["HOME"];
  const { locked, missing } = await missingForService({ ...config, servers }, { ...env, HOME: home });
  for (const need of missing) output.note(describeMissing(need));
  return locked;
}

/** A secret that the service would not have, and what to do about it. */
function describeMissing({ kind, name }: SecretNeed): string {
  const shown = plainLine(name, kind === "file" ? 300 : 80);
  if (kind === "file") return `The service has no value for \${file:${shown}}: it cannot read this file.`;
  const fact = `The service has no value for ${shown}: it does not get the variables of this terminal.`;
  const store = `portolan secrets set ${shown}`;
  return kind === "env"
    ? `${fact} \${env:${shown}} reads variables only: write \${${shown}} in the config file, and store the value: ${store}`
    : `${fact} Store the value: ${store}`;
}

/** Options of `serve`, checked before, as words. A service has another working folder, so paths are absolute. */
export function serveWords(raw: RawServiceOptions, cwd: string): string[] {
  const { host, port, auth, sse, websocket, tlsCert, tlsKey, logFormat } = raw;
  const value = (flag: string, given: string | undefined): string[] =>
    given === undefined ? [] : [flag, given];
  const path = (flag: string, given: string | undefined): string[] =>
    value(flag, given === undefined ? undefined : resolve(cwd, given));
  const list = (flag: string, given: readonly string[] = []): string[] => given.flatMap((one) => [flag, one]);
  return [
    ...value("--host", host),
    ...value("--port", port),
    ...list("--only", raw.only),
    ...(auth === false ? ["--no-auth"] : []),
    ...list("--allow-host", raw.allowHost),
    ...list("--allow-origin", raw.allowOrigin),
    ...path("--tls-cert", tlsCert),
    ...path("--tls-key", tlsKey),
    ...(sse === true ? ["--sse"] : []),
    ...(websocket === true ? ["--websocket"] : []),
    ...value("--log-format", logFormat),
  ];
}

/** Whether an installed definition starts this program for this workspace. Its options are those of its install. */
function isCurrent(text: string, { words }: ServiceDefinition): boolean {
  return words.every((word) => text.includes(word) || /[^\w./@+-]/.test(word));
}

async function definitionOf(
  { io, options }: Cli,
  served: readonly string[] = [],
  passphraseFile: string | undefined = io.env[PASSPHRASE_FILE],
): Promise<ServiceDefinition> {
  const found = await findWorkspace(io, options);
  const path = await realpath(found.path).catch(() => found.path);
  // A line break would end the line of a unit file.
  if (/[\u0000-\u001f\u007f]/.test(path))
    throw new PortolanError(
      "USAGE",
      "The path of the workspace contains control characters, which the definition of a service cannot contain.",
      {
        hint: "Rename the folder.",
      },
    );
  const program = programWords(thisProgram(io.version, io.platform));
  // Service managers search programs elsewhere than in the PATH of the definition; `env` searches there.
  const started = program[0] === "npx" ? ["/usr/bin/env", ...program] : program;
  const words = [...started, "serve", path, ...served];
  const env = {
    ...Object.fromEntries(KEPT.flatMap((name) => (io.env[name] ? [[name, io.env[name]]] : []))),
    ...(passphraseFile ? { [PASSPHRASE_FILE]: resolve(io.cwd, passphraseFile) } : {}),
  };
  const log = join(await logFolder(path), "service.log");
  const folder = found.path === path ? found.folder : dirname(path);
  return { name: serviceName(path), path, words, folder, env, log };
}

async function stateOf({ io }: Cli, words: readonly string[]): Promise<string> {
  const { code, stdout } = await runManager(io, words).catch((thrown: unknown) => ({
    code: 1,
    stdout: `unknown (${(thrown as Error).message})`,
  }));
  const [first = ""] = stdout.trim().split("\n");
  return words[0] === "launchctl" ? (code === 0 ? "active" : "inactive") : first || "unknown";
}

async function waitForGateway({ io, interrupt }: Cli, path: string): Promise<RunningGateway | undefined> {
  const deadline = performance.now() + READY_MS;
  while (performance.now() < deadline && !interrupt.signal.aborted) {
    const [gateway] = (await io.findGateways(path)).gateways.filter(({ kind }) => kind === "http");
    if (gateway !== undefined) return gateway;
    await delay(POLL_MS);
  }
  return undefined;
}
