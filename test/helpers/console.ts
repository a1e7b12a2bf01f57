// A gateway with its console in the test's own process, over fixture servers. It can be stopped and started at the same port.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Cli } from "../../src/cli/context.ts";
import { openServeConsole, type ServeConsole } from "../../src/cli/serve/console.ts";
import { type OpenedGateway, openAccess, openGateway } from "../../src/gateway/index.ts";
import type { GatewaySettings } from "../../src/model/index.ts";
import { stdioCommand } from "../fixtures/processes.mjs";

const DEFINITION_SERVER = fileURLToPath(new URL("../fixtures/definition-server.mjs", import.meta.url));

export interface TestConsole {
  /** Without a path. */
  readonly url: string;
  readonly port: number;
  readonly token: string;
  readonly gateway: OpenedGateway;
  /** A link that signs in once. */
  link(): string;
  readonly folder: string;
  /** Changes the definition of the tool `return_input`. */
  setTools(change: { readonly description: string }): void;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** One tool with an input of each type. */
const INPUTS = {
  name: "return_input",
  description: "Returns its input.",
  inputSchema: {
    type: "object",
    properties: {
      text: { type: "string", description: "Any text." },
      city: { type: "string", enum: ["Porto", "Rome"] },
      count: { type: "integer", minimum: 1 },
      ratio: { type: "number" },
      flag: { type: "boolean" },
      day: { type: "string", format: "date" },
      tags: { type: "array", items: { type: "string" } },
      colors: { type: "array", items: { type: "string", enum: ["red", "blue"] } },
      place: { type: "object", properties: { street: { type: "string" } }, required: ["street"] },
      more: { type: "object" },
    },
    required: ["text", "count"],
  },
};

/** The caller stops it. `more` are further servers, as in a config file. */
export async function startConsole(
  more: Readonly<Record<string, object>> = {},
  gatewaySettings: GatewaySettings = {},
): Promise<TestConsole> {
  const folder = mkdtempSync(join(tmpdir(), "portolan-console-"));
  const definitions = join(folder, "tools.json");
  writeFileSync(definitions, JSON.stringify({ tools: [INPUTS] }));
  const access = await openAccess(folder, { folder: join(folder, "access") });
  const servers = {
    main: stdioCommand("--era=modern"),
    inputs: { command: process.execPath, args: [DEFINITION_SERVER, definitions] },
    broken: stdioCommand("--fault=exit-at-start"),
    ...more,
  };
  writeFileSync(join(folder, "portolan.yaml"), JSON.stringify({ servers }));
  let port = 0;
  let running: { gateway: OpenedGateway; site: ServeConsole; url: string };
  const start = async (): Promise<void> => {
    let site: ServeConsole | undefined;
    const cli = { io: { version: "0.0.0" } } as Cli;
    const settings = { ...gatewaySettings, port };
    const gateway = await openGateway(
      folder,
      { access, settings, snapshots: false, waitMs: 5_000 },
      async (workspace) =>
        (site = await openServeConsole(cli, workspace, {
          access,
          settings,
          served: { folder, path: folder },
        })),
    );
    const { url } = await gateway.listen();
    port = Number(new URL(url).port);
    site?.begin(gateway, url);
    running = { gateway, site: site as ServeConsole, url };
  };
  await start();
  return {
    get url() {
      return running.url;
    },
    get port() {
      return port;
    },
    token: access.token,
    get gateway() {
      return running.gateway;
    },
    link: () => running.site.address(true) ?? "",
    folder,
    setTools: (change) => writeFileSync(definitions, JSON.stringify({ tools: [{ ...INPUTS, ...change }] })),
    stop: () => running.gateway.close(),
    start,
  };
}
