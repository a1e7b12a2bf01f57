// One look at a running server: what it has, held against what its driver promises.

import type { Report } from "../errors/index.ts";
import {
  type Contract,
  DEFAULT_LIMITS,
  isObject,
  type JsonObject,
  type ToolDefinition,
} from "../model/index.ts";
import { listAll, type Upstream } from "../upstream/index.ts";
import type { Registered, Verdict } from "./registered.ts";
import { checkDriver } from "./registration.ts";
import { revisionProblems } from "./revision-problems.ts";

export type Look = (
  registered: Registered,
  upstream: Upstream,
) => Promise<{ readonly verdict: Verdict; readonly prompts: readonly JsonObject[] }>;

const LIST_MS = 30_000;

export function lookWith(contracts: readonly Contract[], root: string | undefined, report: Report): Look {
  const list = async (upstream: Upstream, what: "tools" | "prompts"): Promise<readonly JsonObject[]> => {
    if (what === "prompts" && upstream.describe().capabilities.prompts === undefined) return [];
    const call = { method: `${what}/list`, timeoutMs: LIST_MS };
    const onLoop = (message: string): void =>
      report({ code: "PROTOCOL_ERROR", severity: "warning", server: upstream.name, message });
    const { items } = await listAll(upstream, what, call, { maxPages: DEFAULT_LIMITS.maxPages, onLoop });
    return items.filter((item): item is JsonObject => isObject(item) && typeof item.name === "string");
  };
  return async ({ driver, hooks }, upstream) => {
    const tools = (await list(upstream, "tools")) as readonly ToolDefinition[];
    const prompts = driver.prompts.length > 0 ? await list(upstream, "prompts") : [];
    const checked = checkDriver(driver, contracts, tools, { root, hooks });
    const { revision } = upstream.describe();
    const problems = [...revisionProblems(driver, revision), ...checked.problems];
    const broken = problems.find(({ severity }) => severity === "error");
    const server = broken === undefined ? "fits" : "refused";
    return { verdict: { server, reason: broken?.message, problems, revision }, prompts };
  };
}
