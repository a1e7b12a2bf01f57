// What happens to the servers of a running gateway, in short lines: news once, and calls only when they are asked for.

import type { HubEvent } from "../../hub/index.ts";
import type { Cli } from "../context.ts";
import { describeEvent } from "../output/event.ts";
import { describeRelaxedByOwner, OWNER } from "../output/server-state.ts";
import type { ServedServer } from "./greeting.ts";

/** A server may try any number of hosts. */
const MAX_HOSTS = 50;

export interface ServeEvents {
  record(event: HubEvent): void;
  /** From now on; what was so far is told already. */
  begin(servers: readonly ServedServer[]): void;
  /** That everything stops at the end is no news. */
  end(): void;
}

/** `troubleOnly`: nothing but what went wrong. */
export function createServeEvents(
  { output, options }: Pick<Cli, "output" | "options">,
  troubleOnly: boolean,
): ServeEvents {
  /** Why a server is down, as far as it was said; one that is up is not in it. */
  const down = new Map<string, string>();
  const known = new Set<string>();
  /** What the servers' sandboxes are about, each said once. */
  const said = new Set<string>();
  const relaxed: (HubEvent & { readonly type: "mcp.sandbox_relaxed" })[] = [];
  /** By server. */
  const hosts = new Map<string, Set<string>>();
  const isNewHost = ({ server, host, port }: HubEvent & { readonly type: "mcp.sandbox_denied" }): boolean => {
    const tried = hosts.get(server) ?? new Set();
    hosts.set(server, tried);
    return tried.size < MAX_HOSTS && once(tried, `${host}:${port}`);
  };
  let running = false;
  let ended = false;
  const isNews = (event: HubEvent): boolean => {
    switch (event.type) {
      case "mcp.tools_changed":
      case "mcp.config_reloaded":
        return true;
      case "mcp.server_failed": {
        const reason = event.reason ?? event.code ?? "";
        // It is tried again and again, and fails for the same reason again and again.
        if (down.get(event.server) === reason) return false;
        down.set(event.server, reason);
        return true;
      }
      case "mcp.server_started":
        // A server that was declared just now: that it is ready is news.
        if (!known.has(event.server)) down.set(event.server, "");
        known.add(event.server);
        return false;
      case "mcp.server_stopped":
        // If it comes back, it is a new one.
        down.delete(event.server);
        known.delete(event.server);
        return true;
      case "mcp.server_ready":
      case "mcp.server_restarted":
        return down.delete(event.server);
      case "mcp.sandbox_relaxed":
        return once(said, `${event.server} ${event.mode}`);
      case "mcp.sandbox_denied":
        return isNewHost(event);
      default:
        return false;
    }
  };
  return {
    record(event) {
      if (!running && event.type === "mcp.sandbox_relaxed" && isNews(event)) relaxed.push(event);
      // Also before it listens: most of what is fetched is fetched then, and takes long enough to be asked about.
      if (event.type === "mcp.server_installing" && event.bytes === undefined && !troubleOnly && !ended)
        return output.note(describeEvent(event, output.noteColors));
      if (!running || !(isNews(event) || options.verbose)) return;
      if (troubleOnly && event.type !== "mcp.server_failed" && event.type !== "mcp.sandbox_denied") return;
      output.note(describeEvent(event, output.noteColors));
    },
    begin(servers) {
      for (const { alias, state, error } of servers) {
        known.add(alias);
        if (state !== "ready" && state !== "idle") down.set(alias, error?.message ?? "");
      }
      running = true;
      if (troubleOnly) return;
      // Of the whole machine it is one thing to say.
      const owner = describeRelaxedByOwner(
        relaxed.map(({ server, ...rest }) => ({ alias: server, ...rest })),
      );
      if (owner !== undefined) output.note(output.noteColors.yellow(owner));
      for (const event of relaxed)
        if (event.by !== OWNER) output.note(describeEvent(event, output.noteColors));
    },
    end() {
      running = false;
      ended = true;
    },
  };
}

function once(said: Set<string>, what: string): boolean {
  const isNew = !said.has(what);
  said.add(what);
  return isNew;
}
