// Helpers for tests of the invoke room: server configs, a program that prints its arguments, and a server that records requests.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { afterEach } from "vitest";
import type { Diagnostic } from "../../src/errors/index.ts";
import { openInvoked, type InvokeOptions } from "../../src/invoke/index.ts";
import {
  type CallToolResult,
  type CliInvocation,
  type CliPart,
  type CliVariable,
  type CliWord,
  DEFAULT_LIMITS,
  type HttpInvocation,
  type Invocation,
  type InvokedServer,
  type InvokedTool,
  type JsonObject,
  type JsonSchema,
  type Template,
  type TemplatePart,
  type ToolDefinition,
} from "../../src/model/index.ts";
import type { Call, Upstream } from "../../src/upstream/index.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

export function atEnd(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

export const input = (path: string): TemplatePart => ({ kind: "input", path: path.split(".") });

/** `a {b} ${C} {headers.D}` as the parser would take it apart. */
export function template(text: string): Template {
  return text
    .split(/(\$\{\w+\}|\{[\w.-]+\})/)
    .filter((piece) => piece !== "")
    .map((piece): TemplatePart => {
      if (piece.startsWith("${")) return { kind: "env", name: piece.slice(2, -1) };
      if (!/^\{.*\}$/.test(piece)) return { kind: "text", text: piece };
      const name = piece.slice(1, -1);
      return name.startsWith("headers.") ? { kind: "header", name: name.slice(8) } : input(name);
    });
}

export const word = (text: string): CliWord => ({ kind: "word", parts: template(text) });

export function variable(path: string, format: string, omitIfFalse = false): CliWord & CliPart {
  const own: CliVariable = { path: path.split("."), format: format.split(" ").map(template), omitIfFalse };
  return { kind: "variable", variable: own };
}

export function cli(words: readonly (string | CliWord)[], more: Partial<CliInvocation> = {}): CliInvocation {
  const all = words.map((given) => (typeof given === "string" ? word(given) : given));
  return { kind: "cli", words: all, appendUnused: false, ...more };
}

export function shell(script: readonly CliPart[] | string, more: Partial<CliInvocation> = {}): CliInvocation {
  const parts = typeof script === "string" ? template(script) : script;
  return cli([], { shell: { program: "bash", script: parts }, ...more });
}

const ARGV = "process.stdout.write(JSON.stringify(process.argv.slice(1)))";

/** A command that writes its words as a JSON list. */
export function argv(words: readonly (string | CliWord)[], more: Partial<CliInvocation> = {}): CliInvocation {
  return cli(
    [process.execPath, "-e", { kind: "word", parts: [{ kind: "text", text: ARGV }] }, "--", ...words],
    more,
  );
}

/** A command that runs this program text. */
export function script(
  code: string,
  words: readonly (string | CliWord)[] = [],
  more: Partial<CliInvocation> = {},
): CliInvocation {
  return cli(
    [process.execPath, "-e", { kind: "word", parts: [{ kind: "text", text: code }] }, "--", ...words],
    more,
  );
}

export function http(
  method: HttpInvocation["method"],
  url: string,
  more: Partial<Omit<HttpInvocation, "headers">> & { headers?: Record<string, string> } = {},
): HttpInvocation {
  const { headers = {}, ...others } = more;
  return {
    kind: "http",
    method,
    url: template(url),
    headers: Object.entries(headers).map(([name, value]) => ({ name, value: template(value) })),
    rest: method === "GET" || method === "HEAD" || method === "DELETE" ? "query" : "json",
    query: [],
    bodyAsArray: false,
    ...others,
  };
}

export const strings = (...names: string[]): JsonSchema => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
});

export function tool(
  invocation: Invocation,
  inputSchema: JsonSchema = { type: "object" },
  more: Partial<ToolDefinition> & { scopes?: string[] } = {},
): InvokedTool {
  const { scopes, ...definition } = more;
  return {
    definition: { name: "it", description: "A tool.", inputSchema, ...definition },
    invocation,
    ...(scopes === undefined ? {} : { requiredScopes: scopes }),
  };
}

export interface Opened {
  readonly upstream: Upstream;
  readonly reports: Diagnostic[];
  call(args?: JsonObject, more?: Partial<Call>): Promise<CallToolResult>;
}

export async function open(
  server: Partial<InvokedServer>,
  more: Partial<InvokeOptions> & { env?: Record<string, string> } = {},
): Promise<Opened> {
  const reports: Diagnostic[] = [];
  const { env = {}, ...options } = more;
  const whole: InvokedServer = {
    info: { name: "made", version: "1.0.0" },
    folder: tmpdir(),
    tools: [],
    prompts: [],
    resources: [],
    resourceTemplates: [],
    ...server,
  };
  const upstream = await openInvoked(whole, {
    name: "made",
    limits: DEFAULT_LIMITS,
    report: (finding) => reports.push(finding),
    resolveEnv: (name) => env[name],
    ...options,
  });
  atEnd(() => upstream.close());
  return {
    upstream,
    reports,
    call: (args = {}, call = {}) =>
      upstream.request({ method: "tools/call", params: { name: "it", arguments: args }, ...call }),
  };
}

/** The one tool of a server. */
export function openTool(
  invocation: Invocation,
  schema?: JsonSchema,
  more?: Partial<InvokeOptions> & { env?: Record<string, string> },
): Promise<Opened> {
  return open({ tools: [tool(invocation, schema)] }, more);
}

export function textOf(result: CallToolResult): string {
  return (result.content ?? []).map((block) => String(block.text)).join("\n---\n");
}

export interface Recorded {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export interface Recorder {
  readonly origin: string;
  readonly port: number;
  readonly requests: Recorded[];
}

type Answer = (request: Recorded, response: ServerResponse) => void;

export async function record(
  answer: Answer = (_request, response) => void response.end("ok"),
): Promise<Recorder> {
  const requests: Recorded[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers, rawHeaders } = request;
      const recorded = { method, url, headers, rawHeaders, body: Buffer.concat(chunks).toString("utf8") };
      requests.push(recorded);
      answer(recorded, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, port, requests };
}
