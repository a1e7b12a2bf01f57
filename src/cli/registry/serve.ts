// `portolan registry serve`: serves a registry until it is stopped.

import { isLoopbackHost } from "../../base/net/addresses.ts";
import { shellWord } from "../../base/text/command-line.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  fingerprintOf,
  openStore,
  QUOTA_DEFAULTS,
  REGISTRY_DEFAULTS,
  type RegistryStore,
  startRegistryServer,
} from "../../registry/index.ts";
import type { Cli } from "../context.ts";
import type { RawOptions } from "../options/parse.ts";
import { count } from "../terminal/layout.ts";
import { aborted } from "../terminal/interrupt.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { registryFolder } from "./options.ts";

export interface RawRegistryServeOptions extends RawOptions {
  host?: string;
  port?: string;
  maxFile?: string;
  folder?: string;
  validFor?: string;
  show?: boolean;
  private?: boolean;
  behindProxy?: boolean;
  quotaBytes?: string;
  quotaVersions?: string;
  read?: boolean;
}

export async function serveRegistry(
  cli: Cli,
  written: string | undefined,
  raw: RawRegistryServeOptions,
): Promise<number> {
  const { output } = cli;
  const { host = REGISTRY_DEFAULTS.host } = raw;
  const port = wholeNumber("--port", raw.port, REGISTRY_DEFAULTS.port, 65_535);
  const maxFileBytes = wholeNumber(
    "--max-file",
    raw.maxFile,
    REGISTRY_DEFAULTS.maxFileBytes,
    Number.MAX_SAFE_INTEGER,
  );
  const most = Number.MAX_SAFE_INTEGER;
  const quota = {
    bytesPerDay: wholeNumber("--quota-bytes", raw.quotaBytes, QUOTA_DEFAULTS.bytesPerDay, most),
    versionsPerDay: wholeNumber("--quota-versions", raw.quotaVersions, QUOTA_DEFAULTS.versionsPerDay, most),
  };
  const folder = await registryFolder(cli, written);
  const report = (error: unknown): void =>
    output.note(
      output.noteColors.yellow(plainLine(error instanceof Error ? error.message : String(error), 500)),
    );
  const store = await openStore(folder, { report, quota });
  try {
    return await serveStore(cli, store, {
      ...{ host, port, maxFileBytes, report },
      ...{ isPrivate: raw.private === true, isBehindProxy: raw.behindProxy === true },
    });
  } finally {
    await store.close();
  }
}

interface Serving {
  readonly host: string;
  readonly port: number;
  readonly maxFileBytes: number;
  readonly isPrivate: boolean;
  readonly isBehindProxy: boolean;
  readonly report: (error: unknown) => void;
}

async function serveStore(
  { output, interrupt }: Cli,
  store: RegistryStore,
  { host, port, maxFileBytes, isPrivate, isBehindProxy, report }: Serving,
): Promise<number> {
  const server = await startRegistryServer({
    ...{ store, host, port, maxFileBytes, isPrivate, isBehindProxy },
    report: (error, request) => report(new Error(`${request.method} ${request.path}: ${error.message}`)),
  });
  const { folder } = store.layout;
  const { packages } = (await store.read()).index;
  const key = fingerprintOf(store.publicKey);
  const canPublish = (await store.tokens.list()).some(({ access }) => access !== "read");
  if (output.form === "json") output.json({ url: server.url, folder, key, publicKey: store.publicKey });
  output.note(
    `Serving ${count(Object.keys(packages).length, "package")} of ${folder} at ${server.url}`,
    true,
  );
  output.note(output.noteColors.dim(`Key of the index: ${key}`), true);
  if (isPrivate)
    output.note(
      `Reading needs a token. Create one: portolan registry token add <account> --read --folder ${shellWord(folder)}`,
      true,
    );
  if (!canPublish)
    output.note(
      `There is no token for publishing yet. Create one: portolan registry token add <scope> --folder ${shellWord(folder)}`,
      true,
    );
  if (!isLoopbackHost(host))
    output.note(
      output.noteColors.yellow(
        "Connections to this registry are not encrypted, so Portolan clients on other computers do not send it their token. Put a web server with TLS in front of the registry.",
      ),
    );
  await aborted(interrupt.signal);
  await server.close();
  return 0;
}

function wholeNumber(flag: string, text: string | undefined, preset: number, most: number): number {
  if (text === undefined) return preset;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : -1;
  if (value < 0 || value > most)
    throw new PortolanError("USAGE", `${flag} must be a whole number from 0 to ${most}.`);
  return value;
}
