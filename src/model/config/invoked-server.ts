// Mcpfile servers as plain data: tools, prompts and resources that Portolan runs as HTTP requests or commands.

import type {
  Implementation,
  JsonSchema,
  PromptDefinition,
  ResourceDefinition,
  ResourceTemplateDefinition,
  ToolDefinition,
} from "../protocol/mcp.ts";
import type { SandboxConfig } from "../sandbox/sandbox.ts";

export interface InvokedServer {
  readonly info: Implementation;
  readonly instructions?: string;
  /** Absolute path of the folder that relative paths start at, and the default working folder of commands. */
  readonly folder: string;
  /** The file is part of a package in the store: the sandboxes of its commands show this folder. */
  readonly packageFolder?: string;
  readonly tools: readonly InvokedTool[];
  readonly prompts: readonly InvokedPrompt[];
  readonly resources: readonly InvokedResource[];
  readonly resourceTemplates: readonly InvokedResourceTemplate[];
  readonly clientTls?: ClientTls;
}

/** Certificates that HTTP requests trust beside those of the system. Paths are absolute. */
export interface ClientTls {
  readonly caCertFiles: readonly string[];
  readonly caCertDir?: string;
  readonly insecureSkipVerify: boolean;
}

interface Invoked {
  readonly invocation: Invocation;
  /** Scopes that the token of a caller needs. */
  readonly requiredScopes?: readonly string[];
}

export interface InvokedTool extends Invoked {
  /** The definition that clients see. */
  readonly definition: ToolDefinition;
}

export interface InvokedPrompt extends Invoked {
  readonly definition: PromptDefinition;
  readonly inputSchema: JsonSchema;
}

export interface InvokedResource extends Invoked {
  readonly definition: ResourceDefinition;
}

export interface InvokedResourceTemplate extends Invoked {
  readonly definition: ResourceTemplateDefinition;
  readonly inputSchema: JsonSchema;
}

/** A text with placeholders, parsed when the file is read. Values are never parsed as templates. */
export type Template = readonly TemplatePart[];

export type TemplatePart =
  | { readonly kind: "text"; readonly text: string }
  /** `{name}` or `{a.b}`: an argument of the call. */
  | { readonly kind: "input"; readonly path: readonly string[] }
  /** `{headers.Name}`: a header of the client's HTTP request. */
  | { readonly kind: "header"; readonly name: string }
  /** `${NAME}` or `{env.NAME}`: a secret or variable, resolved when the server starts. */
  | { readonly kind: "env"; readonly name: string };

export type Invocation = HttpInvocation | CliInvocation;

export interface HttpInvocation {
  readonly kind: "http";
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Scheme and host contain no input. */
  readonly url: Template;
  readonly headers: readonly { readonly name: string; readonly value: Template }[];
  /** Place of arguments that no template uses. The default is the query for GET, HEAD and DELETE, otherwise a JSON body. */
  readonly rest: "query" | "json" | "form";
  /** Names of arguments that go to the query although the rest goes to the body. */
  readonly query: readonly string[];
  /** Path of the argument that is the whole body, such as `a.b[0]`. */
  readonly bodyRoot?: readonly (string | number)[];
  /** If true, the body is wrapped in a list. */
  readonly bodyAsArray: boolean;
  /** Paths of arguments that are deliberately not sent. */
  readonly ignored?: readonly (readonly string[])[];
  /** If true, the host name may resolve to a private, loopback or link-local address. An address that is written in the URL is always allowed. */
  readonly allowPrivate?: boolean;
  /** Network rules that the host must match, for the mcpfile of a package. Undefined: every host is allowed. */
  readonly allowedHosts?: readonly string[];
  readonly timeoutMs?: number;
  readonly maxResponseBytes?: number;
}

export interface CliInvocation {
  readonly kind: "cli";
  /** The words of the command. A value fills a word, and never becomes several words. */
  readonly words: readonly CliWord[];
  /** The script of `shell: true`, run by this shell with quoted values. `words` is empty then. */
  readonly shell?: CliShell;
  readonly cwd?: Template;
  readonly env?: readonly { readonly name: string; readonly value: Template }[];
  /** If true, unused arguments are appended as `--name=value`, in the order of the schema. */
  readonly appendUnused: boolean;
  /** Paths of arguments that the command deliberately does not get. */
  readonly ignored?: readonly (readonly string[])[];
  readonly timeoutMs?: number;
  readonly maxOutputBytes?: number;
  /** Sandbox of the command: the sandbox of its file, narrowed by its own. */
  readonly sandbox?: SandboxConfig;
}

/** One word, or a variable that becomes zero or more words. */
export type CliWord =
  | { readonly kind: "word"; readonly parts: readonly CliPart[] }
  /** A variable that is a whole word. Each word of its format becomes a word of the command. */
  | { readonly kind: "variable"; readonly variable: CliVariable };

export type CliPart = TemplatePart | { readonly kind: "variable"; readonly variable: CliVariable };

/** The script of a command with `shell: true`. */
export interface CliShell {
  readonly program: "bash" | "sh";
  readonly script: readonly CliPart[];
  /** The script starts processes in the background and does not wait for them, as far as its text shows. */
  readonly leavesBackground?: boolean;
}

/** A `templateVariables` entry: the format of one argument of the call. */
export interface CliVariable {
  readonly path: readonly string[];
  /** The words of the format. Every placeholder in it stands for the argument. */
  readonly format: readonly Template[];
  readonly omitIfFalse: boolean;
}
