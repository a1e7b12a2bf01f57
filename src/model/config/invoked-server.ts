// A server that is not a program: its tools, prompts and resources are carried out here, as HTTP requests or commands. Plain data.

import type {
  Implementation,
  JsonSchema,
  PromptDefinition,
  ResourceDefinition,
  ResourceTemplateDefinition,
  ToolDefinition,
} from "../protocol/mcp.ts";
import type { SandboxDeclaration } from "../sandbox/sandbox.ts";

export interface InvokedServer {
  readonly info: Implementation;
  readonly instructions?: string | undefined;
  /** What relative paths are relative to, and where commands run that say nothing else. Absolute. */
  readonly folder: string;
  readonly tools: readonly InvokedTool[];
  readonly prompts: readonly InvokedPrompt[];
  readonly resources: readonly InvokedResource[];
  readonly resourceTemplates: readonly InvokedResourceTemplate[];
  readonly clientTls?: ClientTls | undefined;
}

/** Whom HTTP requests trust beside the usual authorities. Paths are absolute. */
export interface ClientTls {
  readonly caCertFiles: readonly string[];
  readonly caCertDir?: string | undefined;
  readonly insecureSkipVerify: boolean;
}

interface Invoked {
  readonly invocation: Invocation;
  /** Scopes that a caller's token must have. */
  readonly requiredScopes?: readonly string[] | undefined;
}

export interface InvokedTool extends Invoked {
  /** As clients see it. */
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

/** A text with gaps, taken apart when the file is read. What fills a gap is never read as a template itself. */
export type Template = readonly TemplatePart[];

export type TemplatePart =
  | { readonly kind: "text"; readonly text: string }
  /** `{name}` or `{a.b}`: a value of the call's arguments. */
  | { readonly kind: "input"; readonly path: readonly string[] }
  /** `{headers.Name}`: a header of the client's own HTTP request. */
  | { readonly kind: "header"; readonly name: string }
  /** `${NAME}` or `{env.NAME}`: a secret or variable, put in when the server starts. */
  | { readonly kind: "env"; readonly name: string };

export type Invocation = HttpInvocation | CliInvocation;

export interface HttpInvocation {
  readonly kind: "http";
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Its scheme and host hold no input; the query may. */
  readonly url: Template;
  readonly headers: readonly { readonly name: string; readonly value: Template }[];
  /** What arguments that are used nowhere else become. By default: query for GET, HEAD and DELETE, else a JSON body. */
  readonly rest: "query" | "json" | "form";
  /** Arguments that go to the query although the rest goes to the body, by name. */
  readonly query: readonly string[];
  /** The value at this path is the whole body: `a.b[0]`, taken apart. */
  readonly bodyRoot?: readonly (string | number)[] | undefined;
  /** The body is wrapped in a list. */
  readonly bodyAsArray: boolean;
  /** Arguments that are deliberately not sent, by path. */
  readonly ignored?: readonly (readonly string[])[] | undefined;
  /** The host may be a name that leads to a private, loopback or link-local address. One that is written as such may anyway. */
  readonly allowPrivate?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxResponseBytes?: number | undefined;
}

export interface CliInvocation {
  readonly kind: "cli";
  /** The command taken apart into words. Values go into words and never make more of them. */
  readonly words: readonly CliWord[];
  /** With `shell: true`: the script itself, run by this shell; values are quoted for it. Then there are no words. */
  readonly shell?: { readonly program: "bash" | "sh"; readonly script: readonly CliPart[] } | undefined;
  readonly cwd?: Template | undefined;
  readonly env?: readonly { readonly name: string; readonly value: Template }[] | undefined;
  /** Arguments that are used nowhere are added as `--name=value`, in the order of the schema. */
  readonly appendUnused: boolean;
  /** Arguments that the command deliberately does not get, by path. */
  readonly ignored?: readonly (readonly string[])[] | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxOutputBytes?: number | undefined;
  /** What the command may touch: that of its file, narrowed by its own. */
  readonly sandbox?: SandboxDeclaration | undefined;
}

/** One word, or a gap that becomes none, one or several. */
export type CliWord =
  | { readonly kind: "word"; readonly parts: readonly CliPart[] }
  /** A gap that fills a word by itself: each of its own words is one. */
  | { readonly kind: "variable"; readonly variable: CliVariable };

export type CliPart = TemplatePart | { readonly kind: "variable"; readonly variable: CliVariable };

/** A `templateVariables` entry: how one argument of the call is written. */
export interface CliVariable {
  readonly path: readonly string[];
  /** The format, taken apart into words. The gap in it is the argument, whatever it is called. */
  readonly format: readonly Template[];
  readonly omitIfFalse: boolean;
}
