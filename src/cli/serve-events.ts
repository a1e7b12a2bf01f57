// What happens to the servers of a running gateway, in short lines: news once, and calls only when they are asked for.

import type { HubEvent } from "../hub/index.ts";
import type { Cli } from "./connect.ts";
import { describeEvent } from "./describe-event.ts";
import type { ServedServer } from "./serve-greeting.ts";

export interface ServeEvents {
  heard(event: HubEvent): void;
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
  let running = false;
  const isNews = (event: HubEvent): boolean => {
    switch (event.type) {
      case "mcp.tools_changed":
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
      default:
        return false;
    }
  };
  return {
    heard(event) {
      if (!running || !(isNews(event) || options.verbose)) return;
      if (troubleOnly && event.type !== "mcp.server_failed") return;
      output.note(describeEvent(event, output.noteColors));
    },
    begin(servers) {
      for (const { alias, state, error } of servers) {
        known.add(alias);
        if (state !== "ready" && state !== "idle") down.set(alias, error?.message ?? "");
      }
      running = true;
    },
    end() {
      running = false;
    },
  };
}
