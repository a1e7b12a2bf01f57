// Syntax tree of a script. Every node has the offset of its first character, for messages.

/** One step of a path: `.name`, `["name"]` or `[0]`. */
export type Step = { readonly name: string } | { readonly index: number };

/** `issue.labels[0].name`: a variable, and a path into its value. */
export interface Reference {
  readonly kind: "reference";
  readonly name: string;
  readonly steps: readonly Step[];
  readonly at: number;
}

/** Text with references in it. */
export interface Template {
  readonly kind: "template";
  readonly parts: readonly (string | Reference)[];
  readonly at: number;
}

interface Literal {
  readonly kind: "literal";
  readonly value: null | boolean | number;
  readonly at: number;
}

interface ListNode {
  readonly kind: "list";
  readonly items: readonly Value[];
  readonly at: number;
}

export interface Entry {
  readonly name: string;
  readonly value: Value;
  readonly at: number;
}

export interface ObjectNode {
  readonly kind: "object";
  readonly entries: readonly Entry[];
  readonly at: number;
}

export type Value = Literal | Template | Reference | ListNode | ObjectNode;

/** `github.create_issue({ … })`, or `@create_issue({ … })` for a tool that was imported by name. */
export interface Call {
  readonly kind: "call";
  /** Undefined for a tool that was imported by name. */
  readonly server: string | undefined;
  readonly tool: string;
  readonly args: readonly Value[];
  readonly at: number;
  readonly toolAt: number;
}

/** `@import mcp github from @alice/github-mcp` */
export interface PackageImport {
  readonly kind: "import-package";
  readonly name: string;
  readonly nameAt: number;
  readonly package: string;
  readonly at: number;
}

/** `import tools from mcp "cmd" as @ns`, or `import tools { @a, @b as @c } from mcp "cmd"` */
export interface ToolsImport {
  readonly kind: "import-tools";
  /** The namespace; undefined when tools are imported by name. */
  readonly name: string | undefined;
  readonly nameAt: number;
  readonly tools: readonly { readonly tool: string; readonly name: string; readonly at: number }[];
  readonly target: string;
  readonly at: number;
  readonly targetAt: number;
}

/** `@mcp:config github { github_token: "{{GITHUB_TOKEN}}" }` */
export interface ConfigStatement {
  readonly kind: "config";
  readonly server: string;
  readonly settings: readonly Entry[];
  readonly at: number;
  readonly serverAt: number;
}

/** `@mcp issue = github.create_issue({ … })`, `var @issue = @ns.createIssue({ … })`, or a call alone. */
export interface CallStatement {
  readonly kind: "call-tool";
  readonly name: string | undefined;
  readonly call: Call;
  readonly at: number;
  readonly nameAt: number;
}

/** `@text`, `@data` and `var` with a value. */
export interface Definition {
  readonly kind: "define";
  readonly name: string;
  readonly value: Value;
  readonly at: number;
  readonly nameAt: number;
}

/** `show …` and lines of text. */
export interface ShowStatement {
  readonly kind: "show";
  readonly value: Value | Call;
  readonly at: number;
}

/** A statement with a syntax error. The names that it would define are known, so that no other error follows from it. */
export interface BrokenStatement {
  readonly kind: "broken";
  readonly names: readonly string[];
  readonly at: number;
}

export type Statement =
  | PackageImport
  | ToolsImport
  | ConfigStatement
  | CallStatement
  | Definition
  | ShowStatement
  | BrokenStatement;
