// Opens a server whose tools, prompts and resources are carried out here.

import type { LookupFunction } from "node:net";
import type { Report } from "../errors/index.ts";
import {
  createDeniedReport,
  type Invocation,
  type InvokedServer,
  type JsonSchema,
  type Limits,
} from "../model/index.ts";
import type { Upstream } from "../upstream/index.ts";
import { Attempts } from "./attempt.ts";
import { checkBoxes } from "./cli/boxed.ts";
import type { Group } from "./cli/process.ts";
import { createCliRunner } from "./cli/run.ts";
import { blockedBy, envNames, envNamesOf, missingError, putIn, putInUrl } from "./env.ts";
import { Handlers } from "./handlers.ts";
import type { Agents } from "./http/agents.ts";
import { createHttpRunner } from "./http/run.ts";
import { InvokedUpstream } from "./invoked-upstream.ts";
import { prepare } from "./prepared.ts";
import type { Runner } from "./types.ts";

export interface InvokeOptions {
  /** What errors, logs and listings call this server. */
  readonly name: string;
  readonly limits: Limits;
  readonly report: Report;
  /** Secrets and variables, looked up once, before anything can run. What lacks one cannot be called; the rest works. */
  readonly resolveEnv: (name: string) => string | undefined;
  /** Looks up again what was missing, for a call that needs it. Throws when it still is. */
  readonly resolveLater?: ((names: readonly string[]) => Promise<ReadonlyMap<string, string>>) | undefined;
  /** Stands in for the system's name resolution. */
  readonly lookup?: LookupFunction | undefined;
}

export async function openInvoked(server: InvokedServer, options: InvokeOptions): Promise<Upstream> {
  const { name, limits, report, resolveEnv, resolveLater, lookup } = options;
  const env = new Map<string, string>();
  const missing = new Set<string>();
  for (const wanted of envNames(server)) {
    const value = resolveEnv(wanted);
    if (value === undefined) missing.add(wanted);
    else env.set(wanted, value);
  }
  if (missing.size > 0 && blockedBy(server, missing).all) throw missingError(name, [...missing]);
  const groups = new Set<Group>();
  const started = (group: Group): void => {
    groups.add(group);
    void group.ended.then(() => groups.delete(group));
  };
  let opening: Promise<Agents> | undefined;
  const createAgents = async (): Promise<Agents> =>
    (await import("./http/agents.ts")).createAgents(server.clientTls, lookup);
  const agents = (): Promise<Agents> => (opening ??= createAgents());
  const reportDenied = createDeniedReport(report);
  const createWith = (
    invocation: Invocation,
    schema: JsonSchema,
    values: ReadonlyMap<string, string>,
  ): Runner =>
    invocation.kind === "http"
      ? createHttpRunner(putIn({ ...invocation, url: putInUrl(invocation.url, values) }, values), agents)
      : createCliRunner(invocation, schema, {
          ...{ folder: server.folder, env: values, started, name, report, reportDenied },
        });
  const createRunner = (invocation: Invocation, schema: JsonSchema): Runner => {
    const lacking = [...envNamesOf(invocation)].filter((wanted) => missing.has(wanted));
    if (lacking.length === 0) return createWith(invocation, schema, env);
    return createWaitingRunner(async () => {
      if (resolveLater === undefined) throw missingError(name, lacking);
      return createWith(invocation, schema, new Map([...env, ...(await resolveLater(lacking))]));
    });
  };

  await checkBoxes(server, { name, report });
  const prepared = await prepare(server, name, createRunner, report);
  // Certificates that cannot be read are better known now than at the first call.
  if (server.clientTls !== undefined) await agents();
  const attempts = new Attempts(name, limits);
  return new InvokedUpstream({
    name,
    server,
    prepared,
    attempts,
    handlers: new Handlers(name, prepared, attempts),
    async release() {
      const stopped = Array.from(groups, (group) => group.stop());
      await Promise.all([...stopped, opening?.then((opened) => opened.close())]);
    },
  });
}

/** For an operation that lacks a secret: each call looks for it again, until it is there. */
function createWaitingRunner(create: () => Promise<Runner>): Runner {
  let ready: Runner | undefined;
  return {
    async run(run) {
      ready ??= await create();
      return ready.run(run);
    },
  };
}
