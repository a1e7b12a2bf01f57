// Console of `portolan serve`: its sign-in, and the methods that need the commands' own parts.

import { openConsole } from "../../console/index.ts";
import type { Access, OpenedGateway, Site } from "../../gateway/index.ts";
import type { OpenedWorkspace } from "../../hub/index.ts";
import type { GatewaySettings } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { consoleUrl, reachable } from "./greeting.ts";
import type { createTokenReader } from "./console-tokens.ts";
import type { Served } from "./served.ts";

type UsedGateway = Pick<OpenedGateway, "reload" | "settingsProblem" | "budgets" | "approvals" | "token">;

export interface ServeConsole extends Site {
  /** Connects the console to the gateway, which listens at this URL now. */
  begin(gateway: UsedGateway, url: string): void;
  /** The address of the console; with a code that signs in once. Undefined if no address of the gateway serves it. */
  address(withCode: boolean): string | undefined;
}

export interface ServeConsoleOptions {
  readonly access: Pick<Access, "token" | "key" | "file">;
  readonly settings: GatewaySettings;
  readonly served: Pick<Served, "folder" | "path">;
}

export async function openServeConsole(
  cli: Cli,
  workspace: OpenedWorkspace,
  { access, settings, served }: ServeConsoleOptions,
): Promise<ServeConsole> {
  let gateway: UsedGateway | undefined;
  let url = "";
  let tokens: ReturnType<typeof createTokenReader> | undefined;
  const startedAt = new Date().toISOString();
  const site = await openConsole({
    workspace,
    access: { token: () => gateway?.token ?? access.token, key: access.key, file: access.file },
    reach: settings.console === "all" ? "all" : "local",
    facts: () => ({
      ...{ pid: process.pid, version: cli.io.version, kind: "http", url: `${reachable(url, settings)}/mcp` },
      ...{ path: served.path ?? served.folder, startedAt },
      servers: workspace.hub.members.map(({ alias }) => alias),
      problems: gateway?.settingsProblem === undefined ? [] : [gateway.settingsProblem],
    }),
    // A web page cannot declare a config file as trusted.
    reload: async () => (await gateway?.reload()) ?? { hasFiles: false, problems: [] },
    approvals: () => gateway?.approvals,
    methods: {
      secrets: async () => {
        const { findNeeds } = await import("../secrets/needs.ts");
        const servers = workspace.hub.members.map(({ config }) => config);
        return { needs: await findNeeds({ ...workspace.config, servers }, workspace.secrets) };
      },
      budgets: async () => ({ budgets: gateway?.budgets ?? [] }),
      accounts: async () => {
        const { readLogins } = await import("../login/login-state.ts");
        const logins = await readLogins(
          cli,
          workspace.hub.members.map(({ config }) => config),
        );
        return {
          accounts: [...logins].map(([server, login]) => ({ server, ...login })),
        };
      },
      tokens: async () => {
        tokens ??= import("./console-tokens.ts").then(({ createTokenReader }) =>
          createTokenReader(workspace),
        );
        return (await tokens)();
      },
      packages: async () => (await import("./console-pins.ts")).readPackages(workspace),
      approvePins: async (params) => (await import("./console-pins.ts")).approvePins(workspace, params),
    },
  });
  return {
    handle: (...given) => site.handle(...given),
    close: () => site.close(),
    begin(opened, listening) {
      gateway = opened;
      url = listening;
      if (consoleUrl(url, settings) !== undefined) opened.approvals.addWay("console");
    },
    address(withCode) {
      const address = consoleUrl(url, settings);
      return address === undefined || !withCode ? address && `${address}/` : site.createLink(address);
    },
  };
}
