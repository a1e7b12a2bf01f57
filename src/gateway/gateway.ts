// The gateway: a workspace served as one MCP server, over HTTP and stdio, to clients of both eras.

import type { Readable, Writable } from "node:stream";
import {
  type OpenedWorkspace,
  openWorkspaceHub,
  type WorkspaceConfig,
  type WorkspaceOptions,
} from "../hub/index.ts";
import { GATEWAY_DEFAULTS, type GatewaySettings } from "../model/index.ts";
import { GATEWAY_CAPABILITIES } from "./common/capabilities.ts";
import { resolveCallerTokens } from "./access/caller-tokens.ts";
import type { Principal } from "./access/access-control.ts";
import { OPEN_GATE } from "./access/caller-limits.ts";
import { type Listening, listenHttp } from "./http/server.ts";
import type { LegacyOptions } from "./legacy/session.ts";
import { LogLevels } from "./common/log-levels.ts";
import { Modern } from "./modern/front.ts";
import { Offers } from "./common/view.ts";
import { Results } from "./common/large-results.ts";
import { serveStdio } from "./channels/stdio.ts";
import { TaskIds } from "./common/task-ids.ts";
import { pause } from "./common/pause.ts";

export interface GatewayOptions extends Omit<WorkspaceOptions, "handlers" | "capabilities"> {
  /** What goes before the settings of the workspace's own file. */
  readonly settings?: GatewaySettings | undefined;
  /** What `openAccess()` gives: the gateway's own token, and the key that it signs with. */
  readonly access: { readonly token: string; readonly key: Buffer };
  /** A server that is the only one keeps its names and its identity at `/mcp` too, for as long as it is the only one. */
  readonly bare?: boolean | undefined;
}

export interface Gateway extends AsyncDisposable {
  readonly workspace: OpenedWorkspace;
  readonly settings: GatewaySettings;
  /** Listens for HTTP; gives the address to which `/mcp` is added. */
  listen(): Promise<{ readonly url: string }>;
  /** Serves one client on these streams. Resolves when it is gone. */
  serveStdio(input: Readable, output: Writable): Promise<void>;
  /** Takes no more requests, lets those under way finish for a moment, then stops everything. */
  close(): Promise<void>;
}

const MAX_PARKED = 10_000;
/** Both together are the longest that stopping takes. */
const DRAIN_MS = 2_000;
const STOP_MS = 2_000;

export async function openGateway(
  source: string | WorkspaceConfig,
  options: GatewayOptions,
): Promise<Gateway> {
  const workspace = await openWorkspaceHub(source, { ...options, capabilities: GATEWAY_CAPABILITIES });
  const settings: GatewaySettings = { ...workspace.config.gateway, ...options.settings };
  try {
    return await createGateway(workspace, settings, options);
  } catch (error) {
    await workspace.close();
    throw error;
  }
}

async function createGateway(
  workspace: OpenedWorkspace,
  declared: GatewaySettings,
  { access, bare }: Pick<GatewayOptions, "access" | "bare">,
): Promise<Gateway> {
  const { hub, report, redactor, config } = workspace;
  const resolved = await resolveCallerTokens(declared, workspace.secrets, config.folder ?? ".");
  const { settings } = resolved;
  for (const secret of resolved.secrets) redactor.add(secret);
  for (const warning of resolved.warnings) report(warning);
  const limits = limitsOf(settings);
  const levels = new LogLevels(hub);
  const results = new Results({ maxBytes: settings.maxResultBytes ?? GATEWAY_DEFAULTS.maxResultBytes });
  const legacy: LegacyOptions = {
    pageSize: settings.pageSize ?? GATEWAY_DEFAULTS.pageSize,
    results,
    levels,
    tasks: new TaskIds(access.key),
  };
  const modern = new Modern({
    ...legacy,
    parking: {
      key: access.key,
      keepMs: limits.parkedForMs,
      maxPerPrincipal: limits.parked,
      maxTotal: Math.max(MAX_PARKED, limits.parked),
    },
  });
  const offers = new Offers(hub, "portolan", bare);
  const stopped = new AbortController();
  let http: Listening | undefined;
  let closing: Promise<void> | undefined;

  const listen = async (): Promise<{ url: string }> => {
    http ??= await listenHttp({ workspace, settings, limits, legacy, modern, offers, token: access.token });
    return { url: http.url };
  };
  const close = async (): Promise<void> => {
    await Promise.race([http?.drain(), pause(DRAIN_MS)]);
    modern.close();
    // What still runs hears that its server was stopped, before its connection ends.
    await Promise.race([workspace.close(), pause(STOP_MS)]);
    stopped.abort();
    http?.stop();
  };
  return {
    workspace,
    settings,
    listen,
    serveStdio: (input, output) =>
      serveStdio({
        input,
        output,
        modern,
        legacy,
        visit: { principal: AT_HOME, offer: offers.for(AT_HOME, { kind: "all" }) },
        maxMessageBytes: limits.bodyBytes,
        signal: stopped.signal,
      }),
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}

type Limits = Required<Omit<NonNullable<GatewaySettings["limits"]>, "rate" | "concurrency">>;

function limitsOf({ limits = {} }: GatewaySettings): { [K in keyof Limits]: number } {
  return {
    bodyBytes: limits.bodyBytes ?? GATEWAY_DEFAULTS.bodyBytes,
    sessions: limits.sessions ?? GATEWAY_DEFAULTS.sessions,
    sessionIdleMs: limits.sessionIdleMs ?? GATEWAY_DEFAULTS.sessionIdleMs,
    parked: limits.parked ?? GATEWAY_DEFAULTS.parked,
    parkedForMs: limits.parkedForMs ?? GATEWAY_DEFAULTS.parkedForMs,
  };
}

/** Who starts the gateway as a process of its own may do all that the process can. */
const AT_HOME: Principal = {
  name: "stdio",
  view: undefined,
  gate: OPEN_GATE,
};
