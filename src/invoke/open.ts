// `openInvoked()`: resolves the variables of an mcpfile server, builds a runner per operation, and returns the upstream.

import type { LookupFunction } from "node:net";
import type { Report } from "../errors/index.ts";
import {
  createDeniedReport,
  type HttpInvocation,
  type Invocation,
  type InvokedServer,
  type JsonSchema,
  type Limits,
} from "../model/index.ts";
import type { RunningProgram } from "../process/index.ts";
import type { PathDenial, Upstream } from "../upstream/index.ts";
import { checkSandboxes } from "./cli/sandboxed.ts";
import { createCliRunner } from "./cli/run.ts";
import {
  blockedBy,
  envNames,
  envNamesOf,
  missingError,
  replaceInUrl,
  replaceVariables,
} from "./env-references.ts";
import type { LaunchContext } from "../launch/index.ts";
import { type Agents, createAgents } from "./http/agents.ts";
import { checkAllowedHost } from "./http/allowed-hosts.ts";
import { createHttpRunner } from "./http/run.ts";
import { InvokedUpstream } from "./invoked-upstream.ts";
import { listOperations, prepareOperations } from "./operations.ts";
import { RequestHandlers } from "./request-handlers.ts";
import { RunningRequests } from "./running-requests.ts";
import type { Runner } from "./types.ts";

export interface InvokeOptions {
  /** The name of this server in errors, logs and listings. */
  readonly name: string;
  readonly limits: Limits;
  readonly report: Report;
  /** Looks up a secret or variable, once, at the start. An operation that lacks one cannot be called; the others work. */
  readonly resolveEnv: (name: string) => string | undefined;
  /** Looks up missing secrets again, for a call that needs them. Throws when one is still missing. */
  readonly resolveLater?: (names: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** State of the starts of the workspace's programs. */
  readonly launchContext?: LaunchContext;
  /** The command that grants more to the sandbox of the file, for hints. */
  readonly grantCommand?: string;
  /** Called for each path that the sandbox of a command denied, once. */
  readonly onDeniedPath?: (denied: PathDenial) => void;
  /** Replaces the name resolution of the system. */
  readonly lookup?: LookupFunction;
}

export async function openInvoked(server: InvokedServer, options: InvokeOptions): Promise<Upstream> {
  const { name, limits, report, resolveEnv, resolveLater, launchContext, lookup, grantCommand } = options;
  const env = new Map<string, string>();
  const missing = new Set<string>();
  for (const wanted of envNames(server)) {
    const value = resolveEnv(wanted);
    if (value === undefined) missing.add(wanted);
    else env.set(wanted, value);
  }
  if (missing.size > 0 && blockedBy(server, missing).all) throw missingError(name, [...missing]);
  const commands = new Set<RunningProgram>();
  const started = (command: RunningProgram): void => {
    commands.add(command);
    void command.ended.then(() => commands.delete(command));
  };
  let opening: Promise<Agents> | undefined;
  const agents = (): Promise<Agents> => (opening ??= createAgents(server.clientTls, lookup));
  const reportDenied = createDeniedReport(report, grantCommand);
  // Each command has its own diagnostics, and the same path is reported once for all of them.
  const once = createOnce(report, options.onDeniedPath);
  const createWith = (
    invocation: Invocation,
    schema: JsonSchema,
    values: ReadonlyMap<string, string>,
  ): Runner =>
    invocation.kind === "http"
      ? createHttpRunner(checkAllowedHost(withVariables(invocation, values)), agents)
      : createCliRunner(invocation, schema, {
          ...{ folder: server.folder, packageFolder: server.packageFolder, env: values, started },
          ...{ name, reportDenied, launchContext, grantCommand, ...once },
        });
  const createRunner = (invocation: Invocation, schema: JsonSchema): Runner => {
    const lacking = [...envNamesOf(invocation)].filter((wanted) => missing.has(wanted));
    if (lacking.length === 0) return createWith(invocation, schema, env);
    return createDeferredRunner(async () => {
      if (resolveLater === undefined) throw missingError(name, lacking);
      return createWith(invocation, schema, new Map([...env, ...(await resolveLater(lacking))]));
    });
  };

  checkAllowedHosts(server, env, missing);
  await checkSandboxes(server, { name, report, launchContext });
  const prepared = await prepareOperations(server, name, createRunner, report);
  // Unreadable certificates fail the start rather than the first call.
  if (server.clientTls !== undefined) await agents();
  const running = new RunningRequests(name, limits);
  return new InvokedUpstream({
    name,
    server,
    prepared,
    running,
    handlers: new RequestHandlers(name, prepared, running),
    async release() {
      const stopped = Array.from(commands, (command) => command.stop());
      await Promise.all([...stopped, opening?.then((opened) => opened.close())]);
    },
  });
}

/** The number of different messages that are remembered. */
const MAX_REPORTED = 200;

function createOnce(
  report: Report,
  onDeniedPath: InvokeOptions["onDeniedPath"],
): { readonly report: Report; readonly onDeniedPath: (denied: PathDenial) => void } {
  const reported = new Set<string>();
  const isNew = (text: string): boolean => {
    if (reported.has(text) || reported.size >= MAX_REPORTED) return false;
    reported.add(text);
    return true;
  };
  return {
    report: (diagnostic) => {
      if (isNew(`${diagnostic.code} ${diagnostic.message}`)) report(diagnostic);
    },
    onDeniedPath: (denied) => {
      if (isNew(`path ${denied.path}`)) onDeniedPath?.(denied);
    },
  };
}

function withVariables(invocation: HttpInvocation, values: ReadonlyMap<string, string>): HttpInvocation {
  return replaceVariables({ ...invocation, url: replaceInUrl(invocation.url, values) }, values);
}

/** A host that is not allowed fails the start, so that a person notices it before the first call. */
function checkAllowedHosts(
  server: InvokedServer,
  env: ReadonlyMap<string, string>,
  missing: ReadonlySet<string>,
): void {
  for (const { invocation } of listOperations(server))
    if (invocation.kind === "http" && invocation.allowedHosts !== undefined)
      if (![...envNamesOf(invocation)].some((wanted) => missing.has(wanted)))
        checkAllowedHost(withVariables(invocation, env));
}

/** Runner of an operation that lacks a secret: each call looks the secret up again until it is found. */
function createDeferredRunner(create: () => Promise<Runner>): Runner {
  let ready: Runner | undefined;
  return {
    async run(run) {
      ready ??= await create();
      return ready.run(run);
    },
  };
}
