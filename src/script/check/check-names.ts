// Checks the names of a script before it runs: each is defined once, before its use, and used as what it is.

import { type Diagnostic, didYouMean } from "../../errors/index.ts";
import { SCRIPT_LIMITS } from "../limits.ts";
import type {
  Call,
  ConfigStatement,
  PackageImport,
  Reference,
  Statement,
  ToolsImport,
  Value,
} from "../syntax/ast.ts";
import type { SourceText } from "../syntax/source-text.ts";
import { settingVariable } from "./settings.ts";

/** One imported server, and everything that the script does with it. */
export interface ServerUse {
  readonly import: PackageImport | ToolsImport;
  /** The name in messages: the namespace, or the command. */
  readonly label: string;
  config: ConfigStatement | undefined;
  readonly calls: Call[];
}

/** A name in `@mcp:config` that no variable has: a secret. */
export interface SecretUse {
  readonly name: string;
  readonly at: number;
  /** The environment variable of the server that receives it. */
  readonly variable: string;
  readonly server: ServerUse;
}

type Known =
  | { readonly kind: "variable"; readonly at: number }
  | { readonly kind: "server"; readonly at: number; readonly use: ServerUse }
  | { readonly kind: "tool"; readonly at: number; readonly use: ServerUse; readonly tool: string }
  | { readonly kind: "broken"; readonly at: number };

export interface CheckedNames {
  readonly servers: readonly ServerUse[];
  readonly secrets: readonly SecretUse[];
  /** The server of each call, and the name of its tool. */
  readonly calls: ReadonlyMap<Call, { readonly server: ServerUse; readonly tool: string }>;
  readonly diagnostics: readonly Diagnostic[];
}

/** `given` are the names that the caller sets, such as with `--var`. */
export function checkNames(
  source: SourceText,
  statements: readonly Statement[],
  given: ReadonlySet<string>,
): CheckedNames {
  const check = new NameCheck(source, given);
  for (const statement of statements) check.statement(statement);
  // A broken statement may have used a name.
  if (!statements.some(({ kind }) => kind === "broken")) check.unused();
  return check;
}

class NameCheck implements CheckedNames {
  readonly servers: ServerUse[] = [];
  readonly secrets: SecretUse[] = [];
  readonly calls: Map<Call, { server: ServerUse; tool: string }> = new Map();
  readonly diagnostics: Diagnostic[] = [];
  readonly #source: SourceText;
  readonly #given: ReadonlySet<string>;
  readonly #known: Map<string, Known> = new Map();
  /** Names that the script refers to as variables. */
  readonly #wanted: Set<string> = new Set();

  constructor(source: SourceText, given: ReadonlySet<string>) {
    this.#source = source;
    this.#given = given;
  }

  statement(statement: Statement): void {
    switch (statement.kind) {
      case "import-package":
      case "import-tools":
        return this.#import(statement);
      case "config":
        return this.#config(statement);
      case "call-tool":
        this.#call(statement.call);
        if (statement.name === undefined) return;
        if (this.#given.has(statement.name))
          this.#error(
            statement.nameAt,
            `The script sets the variable ${JSON.stringify(statement.name)} itself, so --var cannot set it.`,
            `Leave out --var ${statement.name}=….`,
          );
        return this.#define(statement.name, { kind: "variable", at: statement.nameAt });
      case "define":
        this.#value(statement.value);
        return this.#define(statement.name, { kind: "variable", at: statement.nameAt });
      case "show":
        return statement.value.kind === "call" ? this.#call(statement.value) : this.#value(statement.value);
      case "broken":
        for (const name of statement.names) this.#known.set(name, { kind: "broken", at: statement.at });
    }
  }

  /** A given name that the script neither uses nor defines is probably misspelt. */
  unused(): void {
    const variables = [...this.#known].filter(([, { kind }]) => kind === "variable").map(([name]) => name);
    const names = new Set([...variables, ...this.#wanted]);
    for (const name of this.#given)
      if (!names.has(name))
        this.#error(
          0,
          `--var sets the variable ${JSON.stringify(name)}, but the script has no variable of this name.`,
          didYouMean(name, [...names]) ?? `Leave out --var ${name}=….`,
        );
  }

  #error(at: number, message: string, hint?: string): void {
    if (this.diagnostics.length <= SCRIPT_LIMITS.errors)
      this.diagnostics.push(this.#source.diagnostic("FILE_INVALID", at, message, hint));
  }

  #define(name: string, known: Known): void {
    const first = this.#known.get(name);
    if (first === undefined) this.#known.set(name, known);
    else if (first.kind !== "broken")
      this.#error(
        known.at,
        `The name ${JSON.stringify(name)} is defined already, in line ${this.#source.positionOf(first.at).line}.`,
        "Each name can be defined only once. Choose another name.",
      );
  }

  #import(statement: PackageImport | ToolsImport): void {
    const use: ServerUse = {
      import: statement,
      label: statement.name ?? (statement.kind === "import-tools" ? statement.target : ""),
      config: undefined,
      calls: [],
    };
    if (this.servers.length === SCRIPT_LIMITS.imports)
      this.#error(statement.at, `The script imports more than ${SCRIPT_LIMITS.imports} servers.`);
    this.servers.push(use);
    if (statement.name !== undefined)
      this.#define(statement.name, { kind: "server", at: statement.nameAt, use });
    for (const { name, tool, at } of statement.kind === "import-tools" ? statement.tools : [])
      this.#define(name, { kind: "tool", at, use, tool });
  }

  #config(statement: ConfigStatement): void {
    const { server, serverAt, settings } = statement;
    const known = this.#known.get(server);
    if (known?.kind === "broken") return;
    if (known?.kind !== "server") {
      this.#error(
        serverAt,
        `There is no imported server ${JSON.stringify(server)}.`,
        this.#importHint(server),
      );
      return;
    }
    const { use } = known;
    if (use.config !== undefined) this.#error(statement.at, `${server} is configured already.`);
    else if (use.calls.length > 0)
      this.#error(
        statement.at,
        `${server} is used before it is configured.`,
        "Move @mcp:config before its first use.",
      );
    use.config = statement;
    const variables = new Map<string, string>();
    for (const { name, value, at } of settings) {
      const variable = settingVariable(name);
      const other = variables.get(variable.name);
      // The metadata of a package may name another variable, so that `checkServers` checks its settings.
      if (variable.problem !== undefined && use.import.kind !== "import-package")
        this.#error(at, variable.problem, variable.hint);
      else if (other !== undefined)
        this.#error(
          at,
          `The settings ${other} and ${name} both set the environment variable ${variable.name}.`,
        );
      variables.set(variable.name, name);
      if (value.kind === "reference") this.#wanted.add(value.name);
      if (value.kind === "reference" && !this.#known.has(value.name) && !this.#given.has(value.name))
        this.#error(value.at, ...this.#unknown(value.name, `Write "{{${value.name}}}" for a secret.`));
      else this.#value(value, { variable: variable.name, server: use });
    }
  }

  /** `setting`: the value belongs to a server's configuration, where unknown names are secrets. */
  #value(value: Value, setting?: Omit<SecretUse, "name" | "at">): void {
    switch (value.kind) {
      case "reference":
        return this.#reference(value, setting);
      case "template":
        for (const part of value.parts) if (typeof part !== "string") this.#reference(part, setting);
        return;
      case "list":
        for (const item of value.items) this.#value(item, setting);
        return;
      case "object":
        for (const entry of value.entries) this.#value(entry.value, setting);
        return;
      case "literal":
    }
  }

  #reference({ name, steps, at }: Reference, setting?: Omit<SecretUse, "name" | "at">): void {
    this.#wanted.add(name);
    const known = this.#known.get(name);
    if (known?.kind === "variable" || known?.kind === "broken") return;
    if (known !== undefined)
      return this.#error(
        at,
        `${JSON.stringify(name)} is a ${known.kind}, not a variable.`,
        known.kind === "server"
          ? `Call one of its tools: @mcp result = ${name}.tool(…)`
          : `Call it: @mcp result = @${name}(…)`,
      );
    if (this.#given.has(name)) return;
    if (setting !== undefined && steps.length === 0) this.secrets.push({ ...setting, name, at });
    else this.#error(at, ...this.#unknown(name));
  }

  #unknown(name: string, more?: string): [message: string, hint: string | undefined] {
    const variables = [...this.#known].filter(([, { kind }]) => kind === "variable").map(([known]) => known);
    const hint =
      more ??
      didYouMean(name, [...variables, ...this.#given]) ??
      `Define it before this line, or set it: --var ${name}=value`;
    return [`There is no variable ${JSON.stringify(name)}.`, hint];
  }

  #call(call: Call): void {
    for (const value of call.args) this.#value(value);
    const name = call.server ?? call.tool;
    const known = this.#known.get(name);
    if (known?.kind === "broken") return;
    const wanted = call.server === undefined ? "tool" : "server";
    if (known === undefined || known.kind === "variable" || known.kind !== wanted) {
      this.#error(
        call.at,
        `There is no imported ${wanted} ${JSON.stringify(name)}.`,
        this.#importHint(name, wanted),
      );
      return;
    }
    known.use.calls.push(call);
    this.calls.set(call, { server: known.use, tool: known.kind === "tool" ? known.tool : call.tool });
  }

  #importHint(name: string, wanted: "server" | "tool" = "server"): string {
    const names = [...this.#known].filter(([, { kind }]) => kind !== "variable").map(([known]) => known);
    const statement =
      wanted === "server"
        ? `@import mcp ${name} from @user/package`
        : `import tools { @${name} } from mcp "command"`;
    return didYouMean(name, names) ?? `Import it before this line: ${statement}`;
  }
}
