// `portolan serve --stdio`: relays its client to the running gateway of the workspace, so that several clients share one set of
// servers. Without a gateway, it starts servers of its own.

import process from "node:process";
import { Duplex, PassThrough } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { connectAsClient, relay, type RunningGateway } from "../../control/index.ts";
import { type Diagnostic, isPortolanError, PortolanError, toPortolanError } from "../../errors/index.ts";
import type { Cli, Words } from "../context.ts";
import { computerOf, pathLabel } from "../workspace/folder.ts";
import { gatewayLabel, startingOption } from "../workspace/running.ts";
import { openServeLog } from "./log.ts";
import type { ServeOptions } from "./options.ts";

import type { ClientStreams } from "./own-servers.ts";
import { servedPath } from "./served.ts";

/** A service manager restarts a gateway in this time. Afterwards, the client is served by servers of this process. */
const RECONNECT_MS = 15_000;
const POLL_MS = 250;

export async function serveStdio(cli: Cli, words: Words, options: ServeOptions): Promise<number> {
  const path = servedPath(words, cli);
  const { stdin, stdout } = process;
  // A relay needs none of it.
  const serveOwn = async (client?: ClientStreams): Promise<number> =>
    (await import("./own-servers.ts")).serveOwn(cli, words, options, client);
  const serveClient = async (): Promise<number> => {
    try {
      return await serveOwn();
    } catch (thrown) {
      // A person at a terminal sends no requests.
      if (stdin.isTTY) throw thrown;
      const { refuseClient } = await import("./refuse-client.ts");
      const error = await withFullPaths(cli, toPortolanError(thrown));
      await refuseClient({ input: stdin, output: stdout }, error, cli.interrupt.signal);
      throw error;
    }
  };
  // A server of the command line belongs to no workspace, so no other gateway serves it.
  if (path === undefined) return serveClient();
  const log = openServeLog(cli, options);
  const first = await firstLink(cli, path, options);
  if ("reason" in first) {
    log.note(`This process starts servers of its own: ${first.reason}.`);
    return serveClient();
  }
  log.note(
    `Relaying to the gateway ${gatewayLabel(first.gateway)}, whose servers all clients share. With --standalone, this process would start servers of its own.`,
  );
  let own: Promise<number> | undefined;
  let next: Duplex | undefined = first.socket;
  const connect = async (signal: AbortSignal): Promise<Duplex> => {
    if (own !== undefined)
      throw new PortolanError(
        "CONNECTION_CLOSED",
        "portolan serve --stdio has stopped: the gateway has stopped, and the servers that this process started instead have ended or could not start.",
        {
          hint: "Restart the MCP server portolan in your client. If it fails again, run portolan validate in the folder of the workspace.",
        },
      );
    const link = next ?? (await nextLink(cli, path, signal, (text) => log.note(text)));
    next = undefined;
    if (link !== undefined) return link;
    signal.throwIfAborted();
    log.note(
      `No gateway has started within ${RECONNECT_MS / 1_000} seconds. From now on, this process uses servers of its own.`,
    );
    const [input, output] = [new PassThrough(), new PassThrough()];
    own = serveOwn({ input, output });
    void own.then(() => output.end()).catch(() => output.destroy());
    return Duplex.from({ writable: input, readable: output });
  };
  try {
    await relay({ input: stdin, output: stdout, connect, signal: cli.interrupt.signal });
  } finally {
    // The error of servers that cannot be started is the error of the command.
    await own;
  }
  return 0;
}

type FirstLink = { readonly gateway: RunningGateway; readonly socket: Duplex } | { readonly reason: string };

async function firstLink(cli: Cli, path: string, options: ServeOptions): Promise<FirstLink> {
  const flag = cli.options.standalone ? "--standalone" : options.only ? "--only" : startingOption(cli);
  if (flag !== undefined) return { reason: `the option ${flag} requires it` };
  const [gateway] = await sharedGateways(cli, path);
  if (gateway === undefined)
    return {
      reason:
        "no gateway runs for this workspace (portolan serve --daemon starts one that all clients share)",
    };
  try {
    const { facts, socket } = await connectAsClient(gateway);
    if (facts.isPartial !== true) return { gateway, socket };
    socket.destroy();
    return { reason: `the gateway ${gatewayLabel(gateway)} serves only some servers of the workspace` };
  } catch (thrown) {
    const isOld = isPortolanError(thrown) && thrown.code === "NOT_SUPPORTED";
    return {
      reason: isOld ? `the gateway ${gatewayLabel(gateway)} has an older version` : messageOf(thrown),
    };
  }
}

/** Gateways on HTTP outlive their clients. One on stdio ends with the client that started it, so it is not shared. */
async function sharedGateways({ io }: Cli, path: string): Promise<RunningGateway[]> {
  return (await io.findGateways(path)).gateways.filter(({ kind }) => kind === "http");
}

/** Waits for the next gateway. Undefined if none starts in time. */
async function nextLink(
  cli: Cli,
  path: string,
  signal: AbortSignal,
  note: (text: string) => void,
): Promise<Duplex | undefined> {
  note("The gateway has stopped. Waiting for a new gateway; new requests wait until then.");
  const deadline = performance.now() + RECONNECT_MS;
  while (performance.now() < deadline) {
    await delay(POLL_MS, undefined, { signal });
    for (const gateway of await sharedGateways(cli, path)) {
      const link = await connectAsClient(gateway).catch(() => undefined);
      if (link === undefined) continue;
      if (link.facts.isPartial !== true) {
        note(`Relaying to the gateway ${gatewayLabel(gateway)}.`);
        return link.socket;
      }
      link.socket.destroy();
    }
  }
  return undefined;
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The person who reads an error in an MCP client does not know the working folder of the client's command. */
async function withFullPaths(cli: Cli, error: PortolanError): Promise<PortolanError> {
  const { diagnostics } = error.data;
  if (error.code !== "FILE_INVALID" || !Array.isArray(diagnostics)) return error;
  const { configError } = await import("../output/diagnostic.ts");
  const { home } = computerOf(cli.io, cli.io.cwd);
  return configError(diagnostics as Diagnostic[], { ...cli, label: (path) => pathLabel(path, { home }) });
}
