// What a start shows that somebody should know of: what of a sandbox is not held, and what a server was refused. Each said once.

import type { Report } from "../errors/index.ts";
import type { LaunchNews } from "../launch/index.ts";

type OnLaunch = (news: LaunchNews) => void;

/** A server may try a thousand hosts; the first ones tell enough. */
const MAX_REFUSALS = 50;

export function withLaunchReports(server: string, report: Report, onLaunch: OnLaunch | undefined): OnLaunch {
  const refused = new Set<string>();
  let relaxed = false;
  return (news) => {
    if (news.type === "denied") {
      const target = news.port === 0 ? news.host : `${news.host}:${news.port}`;
      if (!refused.has(target) && refused.size < MAX_REFUSALS) {
        refused.add(target);
        report({
          code: "SANDBOX_DENIED",
          severity: "warning",
          server,
          message: `${server} was refused ${target}: ${news.reason}`,
          hint: `If it should reach it, add ${news.host}${usualPort(news.port)} to the network list of its sandbox.`,
        });
      }
    } else if (news.type === "planned" && !relaxed && news.plan.sandbox.mode === "warn") {
      relaxed = true;
      const { missing } = news.plan.sandbox;
      for (const { clause, problem, remedy } of missing) {
        const message = `${server} runs although this is not held: ${clause} (${problem})`;
        report({ code: "SANDBOX_UNAVAILABLE", severity: "warning", server, message, hint: remedy });
      }
    }
    onLaunch?.(news);
  };
}

const usualPort = (port: number): string => ([0, 80, 443].includes(port) ? "" : `:${port}`);
