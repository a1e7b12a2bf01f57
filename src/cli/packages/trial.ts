// Trial start of a package: once, in its sandbox, before anything is written. Its lock entry is in a folder of its own until then.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isHttpUrl } from "../../base/net/urls.ts";
import { changedError, isPortolanError, PortolanError } from "../../errors/index.ts";
import { parseWorkspace } from "../../formats/workspace/index.ts";
import type { HubEvent } from "../../hub/index.ts";
import { escapeReferences, type RegistrySetting, type ServerConfig } from "../../model/index.ts";
import { lockFileOf, type LockedPackage, renderLock } from "../../packages/index.ts";
import { createRedactor } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { withSlowNote } from "../output/progress.ts";
import { healthError, withWorkspace } from "../workspace/open.ts";
import type { Source } from "../workspace/source.ts";
import type { SettingValue } from "./configuration.ts";
import { type LiveTool, toLiveTool } from "./live-tools.ts";

export interface TrialRequest {
  readonly alias: string;
  /** The text of portolan.yaml as it would be. */
  readonly text: string;
  readonly file: string;
  readonly folder: string;
  readonly envFile?: string;
  /** The registries of the command, with their tokens. */
  readonly registries?: readonly RegistrySetting[];
  /** Undefined for a server that is no package of the lock file. */
  readonly locked: LockedPackage | undefined;
  /** The command that adds the server, for hints: portolan.yaml does not have the server yet. */
  readonly command?: string;
  /** Secrets among them are not stored yet. */
  readonly values: readonly SettingValue[];
}

/** Starts the server once and returns its tools. Writes nothing but the store of downloads. */
export async function tryServer(cli: Cli, request: TrialRequest): Promise<LiveTool[]> {
  const { alias, locked, folder, envFile, registries } = request;
  const own = await mkdtemp(join(tmpdir(), "portolan-add-"));
  const redactor = createRedactor();
  for (const { store } of request.values) if (store !== undefined) redactor.add(store.value);
  try {
    const lock = lockFileOf(own);
    // Its origin was checked for the approval, and files that are trusted are not beside this lock file.
    const entry = locked && { ...locked, source: fromHere(locked.source, folder), provenance: undefined };
    await writeFile(lock, renderLock({ lockfileVersion: 1, servers: { [alias]: { package: entry } } }));
    const source: Source = {
      // As for servers of other clients, nothing about this server is stored.
      ...{ kind: "clients", path: folder, files: [], diagnostics: [], ofDrivers: [], leftOut: [] },
      config: { servers: [toServer(request, lock)], folder, envFile, registries },
    };
    const { sandbox: _, ...options } = cli.options;
    const trial = {
      ...cli,
      options: { ...options, sandbox: { modes: {}, network: [], read: [], write: [] } },
    };
    let doing = `starting ${alias}`;
    const onEvent = (event: HubEvent): void => {
      if (event.type === "mcp.server_installing" && event.bytes === undefined) doing = event.reason ?? doing;
    };
    const open = { only: [alias], start: "eager", showsSource: true, asGateway: true, onEvent } as const;
    return await withSlowNote(
      cli,
      () => doing,
      () =>
        withWorkspace(trial, source, open, async ({ workspace }) => {
          const [health] = workspace.health();
          const problem = health && healthError(health, { waits: false });
          if (problem !== undefined) throw problem;
          const tools = await workspace.toolDefinitions();
          const names = workspace.toolNames();
          return tools.flatMap((definition) => {
            const found = names.get(definition.name);
            return found?.server === alias ? [toLiveTool(definition, found.name)] : [];
          });
        }),
    );
  } catch (error) {
    cli.interrupt.signal.throwIfAborted();
    if (!isPortolanError(error)) throw error;
    const { message, stderr, data } = error;
    const hint =
      request.command !== undefined && data.reason === "HOST_DENIED"
        ? `If the server may connect to this host: ${request.command} --allow-net ${String(data.rule)}`
        : error.hint;
    throw changedError(error, {
      message: `${redactor.redactText(message).replace(/(?<![.:])$/, ".")} Nothing was changed.`,
      hint: redactor.redactText(hint),
      stderr: stderr === undefined ? undefined : redactor.redactText(stderr),
    });
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/** The path of a bundle is relative to the lock file, which is elsewhere during the trial. */
function fromHere(source: string, folder: string): string {
  const location = source.startsWith("mcpb:") ? source.slice("mcpb:".length) : undefined;
  return location === undefined || isHttpUrl(location) ? source : `mcpb:${resolve(folder, location)}`;
}

/** The server as the future portolan.yaml has it, with the lock file of the trial and the values of new secrets. */
function toServer(request: TrialRequest, lock: string): ServerConfig {
  const { alias, text, file, folder, values, command } = request;
  const { servers, diagnostics } = parseWorkspace(text, file);
  const written = servers.find((server) => server.alias === alias);
  if (written === undefined) {
    const problem = diagnostics.find(({ severity }) => severity === "error");
    throw new PortolanError(
      "FILE_INVALID",
      `The server ${alias} cannot be written to portolan.yaml: ${problem?.message ?? "the changed file would not contain it"}`,
      {
        hint: problem?.hint,
      },
    );
  }
  // Hints name the options of this command, because `portolan grant` does not know the server yet.
  const isNew = command !== undefined;
  const found: ServerConfig = isNew
    ? { ...written, origin: { ...written.origin, format: "command line" } }
    : written;
  if (found.endpoint.transport !== "stdio") return { ...found, enabled: true };
  if (found.endpoint.kind !== "package") {
    const { endpoint } = found;
    const isImplied = endpoint.cwd === undefined;
    return {
      ...found,
      enabled: true,
      endpoint: { ...endpoint, cwd: endpoint.cwd ?? folder },
      launch: { ...found.launch, ...(isImplied ? { cwdImplied: true } : {}) },
    };
  }
  const typed = values.flatMap(({ setting, store }) =>
    store === undefined ? [] : [[setting.variable, escapeReferences(store.value.reveal())]],
  );
  const { endpoint } = found;
  return {
    ...found,
    enabled: true,
    endpoint: {
      ...endpoint,
      package: fromHere(endpoint.package, folder),
      lock: { file: lock, server: alias },
      cwd: endpoint.cwd ?? folder,
      env: { ...endpoint.env, ...Object.fromEntries(typed) },
    },
    launch: { ...found.launch, ...(endpoint.cwd === undefined ? { cwdImplied: true } : {}) },
  };
}
