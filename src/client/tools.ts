// Tools of a connection: a definition with validators for its input and output, and the form that agent frameworks
// expect.

import { invalidArguments, PortolanError, type Report } from "../errors/index.ts";
import {
  isObject,
  OUTPUT_MISMATCH,
  type CallToolResult,
  type JsonObject,
  type ToolDefinition,
} from "../model/index.ts";
import { createValidator, describeField, toZodView, type SchemaValidator } from "../schema/index.ts";
import type * as Zod from "zod";
import { fromErrorResult } from "./gateway-errors.ts";
import type { RequestOptions, Tool, ToolCallOptions, ToolResult } from "./types.ts";

/** A tool definition with validators for its input and its output. */
export class CheckedTool {
  readonly definition: ToolDefinition;
  readonly #server: () => string;
  readonly #report: Report;
  #input: SchemaValidator | undefined;
  #output: SchemaValidator | undefined;
  #loading: Promise<void> | undefined;

  constructor(definition: ToolDefinition, server: () => string, report: Report) {
    this.definition = definition;
    this.#server = server;
    this.#report = report;
  }

  get loaded(): boolean {
    return this.#input !== undefined;
  }

  /** Compiles both validators. */
  async load(): Promise<void> {
    if (this.loaded) return;
    this.#loading ??= this.#load();
    await this.#loading;
  }

  /** True if the input is known to be valid; false if it is invalid or cannot be checked. */
  accepts(input: JsonObject): boolean {
    return this.#input?.check(input).valid === true;
  }

  checkInput(input: JsonObject): void {
    const outcome = this.#input?.check(input);
    if (outcome === undefined || outcome.valid === true) return;
    const { name } = this.definition;
    if (outcome.valid === "unknown") return this.#unchecked("input", outcome.reason);
    const { problems } = outcome;
    throw invalidArguments({
      ...{ server: this.#server(), tool: name, data: { problems } },
      problems: problems.map(describeField),
    });
  }

  checkOutput(result: CallToolResult): void {
    if (this.#output === undefined || result.isError === true) return;
    // The result of an extension, such as a task, is not the output yet.
    if (result.resultType !== undefined && result.resultType !== "complete") return;
    const { name } = this.definition;
    const place = { server: this.#server(), tool: name };
    const mismatch = isObject(result._meta) ? result._meta[OUTPUT_MISMATCH] : undefined;
    // The server returned its output with a warning, because an error would make the model repeat the operation.
    if (typeof mismatch === "string")
      return this.#report({
        code: "OUTPUT_INVALID",
        severity: "warning",
        ...place,
        message: mismatch.slice(0, 1_000),
      });
    if (result.structuredContent === undefined) {
      throw new PortolanError(
        "OUTPUT_INVALID",
        `the tool ${name} has an outputSchema, but returned no structuredContent`,
        {
          ...place,
          data: { result },
        },
      );
    }
    const outcome = this.#output.check(result.structuredContent);
    if (outcome.valid === true) return;
    if (outcome.valid === "unknown") return this.#unchecked("output", outcome.reason);
    const { problems } = outcome;
    throw new PortolanError(
      "OUTPUT_INVALID",
      `the output of ${name} does not match its outputSchema: ${problems.map(describe).join("; ")}`,
      {
        ...place,
        data: { problems, result },
      },
    );
  }

  async #load(): Promise<void> {
    const { inputSchema, outputSchema } = this.definition;
    const [input, output] = await Promise.all([
      createValidator(inputSchema),
      outputSchema === undefined ? undefined : createValidator(outputSchema),
    ]);
    this.#output = output;
    this.#input = input;
  }

  #unchecked(what: string, reason: string): void {
    this.#report({
      code: "SCHEMA_UNSUPPORTED",
      severity: "warning",
      server: this.#server(),
      tool: this.definition.name,
      message: `the ${what} of "${this.definition.name}" is not checked: ${reason}`,
    });
  }
}

function describe(problem: { path: string; message: string }): string {
  return problem.path === "" ? problem.message : `${problem.path}: ${problem.message}`;
}

interface AgentToolOptions {
  readonly name: string;
  readonly definition: ToolDefinition;
  readonly server: () => string;
  readonly zod: typeof Zod;
  readonly report: Report;
  readonly call: (name: string, input: JsonObject, options: RequestOptions) => Promise<ToolResult>;
}

/** A tool with a name that every provider accepts, a Zod view of its schema, and a function that returns text. */
export function toAgentTool({ name, definition, server, zod, report, call }: AgentToolOptions): Tool {
  let schema: Tool["schema"] | undefined;
  return {
    name,
    description: definition.description ?? "",
    inputSchema: definition.inputSchema,
    outputSchema: definition.outputSchema,
    annotations: definition.annotations,
    definition,
    get schema() {
      schema ??= toZodView(definition.inputSchema, zod, (diagnostic) => {
        const message = `tool "${definition.name}": ${diagnostic.message}`;
        report({ ...diagnostic, message, server: server(), tool: definition.name });
      });
      return schema;
    },
    execute(input?: unknown, options?: unknown, details?: unknown) {
      // `call` reports an input that is no object.
      const given = (input ?? {}) as JsonObject;
      return call(definition.name, given, toRequestOptions(options, details)).then((result) => {
        if (result.isError !== true) return result.text;
        const message = result.text || `${definition.name} reported an error without a message`;
        throw fromErrorResult(result, message, { server: server(), tool: definition.name });
      });
    },
  };
}

/**
 * Options from the arguments of a framework: AI SDK and LangChain pass options second, OpenAI Agents third after its context. Other
 * fields of theirs are left out; `call` refuses wrong values of the fields that are used.
 */
function toRequestOptions(options: unknown, details: unknown): RequestOptions {
  const second = isObject(options) ? (options as ToolCallOptions) : {};
  const own = isObject(details) ? (details as ToolCallOptions) : second;
  const { timeoutMs, maxTimeoutMs, onProgress, meta } = own;
  const outer = [second.signal, second.abortSignal].find((one) => one instanceof AbortSignal);
  const signal = own.signal ?? own.abortSignal ?? outer;
  return { signal, timeoutMs, maxTimeoutMs, onProgress, meta };
}
