// Runs a script: its statements in order, each server started at its first use and closed at the end.

import { type RequestOptions, resultText } from "../../client/index.ts";
import {
  changedError,
  type Diagnostic,
  isPortolanError,
  PortolanError,
  toPortolanError,
} from "../../errors/index.ts";
import type { ToolDefinition } from "../../model/index.ts";
import { createRedactor, type Redactor, withRedactedError } from "../../secrets/index.ts";
import type { ServerUse } from "../check/check-names.ts";
import { settingVariable } from "../check/settings.ts";
import type { Script } from "../script.ts";
import type {
  FoundServer,
  ScriptServer,
  ScriptServers,
  SettingParts,
  SettingSecret,
} from "../servers/script-servers.ts";
import type { Call, Statement, Value } from "../syntax/ast.ts";
import { Budget } from "./budget.ts";
import { evaluate, EvaluationError, lookUp, renderText, type Scope } from "./evaluate.ts";
import { resourceValue, toolValue } from "./results.ts";
import { findTool, toInput } from "./tool-call.ts";

/** Characters of a failed tool's message that are shown. */
const MAX_FAILURE = 2_000;

export interface RunOptions {
  readonly servers: ScriptServers;
  /** The secrets of `@mcp:config`, by name. */
  readonly secrets: ReadonlyMap<string, SettingSecret>;
  /** Redacts the secrets in results and errors; the caller may share its own. */
  readonly redactor?: Redactor;
  /** Variables that the caller sets. They replace definitions of the same name. */
  readonly variables?: ReadonlyMap<string, unknown>;
  readonly signal: AbortSignal;
  /** Receives each block of output. */
  readonly onOutput?: (text: string) => void;
  /** Makes the options of a request; the label says what it does. */
  readonly request?: (label: string) => RequestOptions;
}

/** The result of a run. After a failure, it has everything up to the failed statement. */
export interface RunResult {
  readonly outputs: readonly string[];
  readonly variables: Readonly<Record<string, unknown>>;
  /** The error, with its position in the script in `data`; undefined if the script ran to its end. */
  readonly error: PortolanError | undefined;
}

export async function runScript(script: Script, options: RunOptions): Promise<RunResult> {
  const run = new ScriptRun(script, options);
  const error = await run.all();
  const closing = await run.close();
  return { outputs: run.outputs, variables: Object.fromEntries(run.variables), error: error ?? closing };
}

/** Checks the servers that a script imports, without starting them. Returns a diagnostic for each that cannot be used. */
export function checkServers({ source, names }: Script, servers: ScriptServers): Diagnostic[] {
  return names.servers.flatMap((use) => {
    const { import: from, config } = use;
    const at = from.kind === "import-package" ? from.at : from.targetAt;
    try {
      const found =
        from.kind === "import-package" ? servers.find(from.package) : servers.findTarget(from.target);
      if (config === undefined || config.settings.length === 0) return [];
      if (found.takesSettings)
        return config.settings.flatMap(({ name, at: place }) => {
          const { problem, hint } = settingVariable(name, found.variables);
          return problem === undefined ? [] : [source.diagnostic("FILE_INVALID", place, problem, hint)];
        });
      const message = `@mcp:config cannot configure ${found.label}: it is not a program that Portolan starts.`;
      const next =
        found.origin === undefined
          ? "Remove @mcp:config. If the server needs headers, add it to portolan.yaml with its headers, and import it from there."
          : "Remove @mcp:config, and set headers and secrets in the config of the server.";
      return [source.diagnostic("CONFIG_INVALID", config.at, message, next)];
    } catch (thrown) {
      if (!isPortolanError(thrown)) throw thrown;
      return [source.diagnostic(thrown.code, at, thrown.message, thrown.hint)];
    }
  });
}

class ScriptRun {
  readonly variables: Map<string, unknown>;
  readonly outputs: string[] = [];
  readonly #script: Script;
  readonly #options: RunOptions;
  readonly #scope: Scope;
  readonly #redactor: Redactor;
  readonly #settings: Map<ServerUse, Readonly<Record<string, SettingParts>>> = new Map();
  readonly #open: Map<ServerUse, { server: ScriptServer; tools?: readonly ToolDefinition[] }> = new Map();

  constructor(script: Script, options: RunOptions) {
    this.#script = script;
    this.#options = options;
    this.variables = new Map(options.variables);
    this.#scope = { variables: this.variables, budget: new Budget() };
    this.#redactor = options.redactor ?? createRedactor();
    for (const { secret } of options.secrets.values()) this.#redactor.add(secret);
  }

  /** Runs all statements. Returns the error of the first one that fails. */
  async all(): Promise<PortolanError | undefined> {
    for (const statement of this.#script.statements) {
      try {
        this.#options.signal.throwIfAborted();
        await this.#statement(statement);
      } catch (thrown) {
        return this.#located(thrown, statement.at);
      }
    }
    return undefined;
  }

  async close(): Promise<PortolanError | undefined> {
    const closed = await Promise.allSettled([...this.#open.values()].map(({ server }) => server.close()));
    const failed = closed.find((one) => one.status === "rejected");
    return failed === undefined
      ? undefined
      : withRedactedError(toPortolanError(failed.reason), this.#redactor);
  }

  async #statement(statement: Statement): Promise<void> {
    switch (statement.kind) {
      case "define":
        if (!(this.#options.variables?.has(statement.name) ?? false))
          this.variables.set(statement.name, evaluate(statement.value, this.#scope));
        return;
      case "call-tool": {
        const value = await this.#call(statement.call);
        if (statement.name !== undefined) this.variables.set(statement.name, value);
        return;
      }
      case "show": {
        const value =
          statement.value.kind === "call"
            ? await this.#call(statement.value)
            : evaluate(statement.value, this.#scope);
        const text = renderText(value, this.#scope.budget);
        this.outputs.push(text);
        this.#options.onOutput?.(text);
        return;
      }
      case "config": {
        const use = this.#script.names.servers.find(({ config }) => config === statement);
        if (use === undefined) return;
        const { variables } = this.#found(use);
        const parts = statement.settings.map(({ name, value }) => {
          const variable = settingVariable(name, variables);
          if (variable.problem !== undefined)
            throw new PortolanError("FILE_INVALID", variable.problem, { hint: variable.hint });
          return [variable.name, this.#setting(value)] as const;
        });
        this.#settings.set(use, Object.fromEntries(parts));
        return;
      }
      // A server starts at its first use; a script with a broken statement does not run.
      case "import-package":
      case "import-tools":
      case "broken":
    }
  }

  /** The value of a setting. Secrets stay apart from text, so that they are never part of a variable. */
  #setting(value: Value): SettingParts {
    if (value.kind !== "template") return [renderText(evaluate(value, this.#scope), this.#scope.budget)];
    return value.parts.map((part) => {
      if (typeof part === "string") return part;
      const secret = this.variables.has(part.name) ? undefined : this.#options.secrets.get(part.name);
      return secret ?? renderText(lookUp(part, this.#scope), this.#scope.budget);
    });
  }

  #found({ import: from }: ServerUse): FoundServer {
    const { servers } = this.#options;
    return from.kind === "import-package" ? servers.find(from.package) : servers.findTarget(from.target);
  }

  async #call(call: Call): Promise<unknown> {
    const target = this.#script.names.calls.get(call);
    if (target === undefined) throw new PortolanError("INTERNAL", "A call has no server.");
    const args = call.args.map((arg) => evaluate(arg, this.#scope));
    const { label } = target.server;
    const place = { server: label, tool: target.tool };
    try {
      const opened = await this.#server(target.server);
      const [uri] = args;
      if (
        call.server !== undefined &&
        target.tool === "resource" &&
        args.length === 1 &&
        typeof uri === "string"
      ) {
        const result = await opened.server.readResource(uri, this.#request(`reading ${uri}`));
        return this.#redactor.redactValue(resourceValue(result));
      }
      opened.tools ??= await opened.server.listTools(this.#request(`listing the tools of ${label}`));
      const tool = findTool(target.tool, opened.tools, label);
      const input = toInput(args, tool);
      const result = await opened.server.callTool(
        tool.name,
        input,
        this.#request(`calling ${label}.${tool.name}`),
      );
      if (result.isError === true) {
        const text = this.#redactor.redactText(resultText(result)).slice(0, MAX_FAILURE);
        throw new PortolanError("TOOL_FAILED", `${label}.${tool.name} failed: ${text}`, place);
      }
      return this.#redactor.redactValue(toolValue(result));
    } catch (thrown) {
      const error = toPortolanError(thrown, { server: label });
      const isName = error.code === "TOOL_NOT_FOUND" || error.code === "NAME_AMBIGUOUS";
      throw new EvaluationError(isName ? call.toolAt : call.at, error);
    }
  }

  /** The running server of an import; it starts at the first use. */
  async #server(use: ServerUse): Promise<{ server: ScriptServer; tools?: readonly ToolDefinition[] }> {
    const existing = this.#open.get(use);
    if (existing !== undefined) return existing;
    const { servers, signal } = this.#options;
    const options = { name: use.label, env: this.#settings.get(use) ?? {}, signal };
    const { import: from } = use;
    const server =
      from.kind === "import-package"
        ? await servers.open(from.package, options)
        : await servers.openTarget(from.target, options);
    const opened = { server };
    this.#open.set(use, opened);
    return opened;
  }

  #request(label: string): RequestOptions {
    const { request, signal } = this.#options;
    return request?.(label) ?? { signal };
  }

  /** The error with its position in the script, and without secrets. */
  #located(thrown: unknown, statementAt: number): PortolanError {
    const at = thrown instanceof EvaluationError ? thrown.at : statementAt;
    const error = thrown instanceof EvaluationError ? thrown.error : toPortolanError(thrown);
    const { source } = this.#script;
    const data = { ...error.data, file: source.file, ...source.positionOf(at) };
    return withRedactedError(changedError(error, { data }), this.#redactor);
  }
}
