// One look at a running server: what it has, held against what its driver promises.

import { isPortolanError, type Report } from "../../errors/index.ts";
import {
  type Contract,
  DEFAULT_LIMITS,
  type Driver,
  isObject,
  type JsonObject,
  type ToolDefinition,
} from "../../model/index.ts";
import { listAll, type Upstream } from "../../upstream/index.ts";
import type { Registered, Verdict } from "../driver/registered-driver.ts";
import { checkDriver } from "../registration/check-driver.ts";
import { revisionProblems } from "./revision-problems.ts";
import { type Lacking, surfaceProblems } from "../registration/check-surfaces.ts";

export type Look = (registered: Registered, upstream: Upstream) => Promise<Seen>;

export interface Seen {
  readonly verdict: Verdict;
  readonly prompts: readonly JsonObject[];
  /** What of the driver's prompts and resources the server does not have. */
  readonly lacks: Lacking["lacks"];
}

const LIST_MS = 30_000;

export function lookWith(contracts: readonly Contract[], root: string | undefined, report: Report): Look {
  const list = async (upstream: Upstream, method: string, field: string): Promise<readonly JsonObject[]> => {
    const onLoop = (message: string): void =>
      report({ code: "PROTOCOL_ERROR", severity: "warning", server: upstream.name, message });
    const call = { method, timeoutMs: LIST_MS };
    const { items } = await listAll(upstream, field, call, { maxPages: DEFAULT_LIMITS.maxPages, onLoop });
    return items.filter(isObject);
  };
  const named = async (upstream: Upstream, what: "tools" | "prompts"): Promise<readonly JsonObject[]> =>
    (await list(upstream, `${what}/list`, what)).filter(({ name }) => typeof name === "string");
  const promptsOf = async (driver: Driver, upstream: Upstream): Promise<readonly JsonObject[]> =>
    driver.prompts.length === 0 || upstream.describe().capabilities.prompts === undefined
      ? []
      : named(upstream, "prompts");

  /** Undefined when it does not say, for once: that is no reason to take them away. */
  const resourcesOf = async (driver: Driver, upstream: Upstream): Promise<Resources | undefined> => {
    if (driver.resources.length === 0) return undefined;
    if (upstream.describe().capabilities.resources === undefined) return { uris: [], templates: [] };
    const texts = async (method: string, field: string, key: string): Promise<string[] | undefined> => {
      try {
        const found = await list(upstream, method, field);
        return found.flatMap(({ [key]: text }) => (typeof text === "string" ? [text] : []));
      } catch (error) {
        // Many servers with resources have no templates, and do not know the word.
        return isPortolanError(error) && error.code === "NOT_SUPPORTED" ? [] : undefined;
      }
    };
    const [uris, templates] = await Promise.all([
      texts("resources/list", "resources", "uri"),
      texts("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ]);
    return uris === undefined || templates === undefined ? undefined : { uris, templates };
  };

  return async ({ driver, hooks }, upstream) => {
    const [tools, prompts, resources] = await Promise.all([
      named(upstream, "tools"),
      promptsOf(driver, upstream),
      resourcesOf(driver, upstream),
    ]);
    const checked = checkDriver(driver, contracts, tools as readonly ToolDefinition[], { root, hooks });
    const { revision } = upstream.describe();
    const names = prompts.map(({ name }) => String(name));
    const lacking = surfaceProblems(driver, { prompts: names, resources });
    const problems = [...revisionProblems(driver, revision), ...checked.problems, ...lacking.problems];
    const broken = problems.find(({ severity }) => severity === "error");
    const server = broken === undefined ? "fits" : "refused";
    const verdict = { server, reason: broken?.message, problems, revision } as const;
    return { verdict, prompts, lacks: lacking.lacks };
  };
}

interface Resources {
  readonly uris: readonly string[];
  readonly templates: readonly string[];
}
