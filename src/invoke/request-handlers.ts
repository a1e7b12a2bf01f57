// Handlers of tools/call, prompts/get and resources/read: find the operation, check scopes and arguments, run it, build the result.

import {
  didYouMean,
  invalidArguments,
  invalidArgumentsText,
  PortolanError,
  unknownPrompt,
  unknownTool,
} from "../errors/index.ts";
import { type JsonObject, RPC, type ResourceContents } from "../model/index.ts";
import type { Call } from "../upstream/index.ts";
import type { RunningRequests } from "./running-requests.ts";
import type { Checked } from "./input.ts";
import { decodeText, isTextual, mediaType } from "./media-type.ts";
import { errorResult, toToolResult } from "./output.ts";
import type { Prepared, ReadyResource, ReadyTemplate, ReadyTool } from "./operations.ts";
import { ArgumentError } from "./values.ts";
import type { Outcome, Runner } from "./types.ts";

export class RequestHandlers {
  readonly #server: string;
  readonly #prepared: Prepared;
  readonly #running: RunningRequests;

  constructor(server: string, prepared: Prepared, running: RunningRequests) {
    this.#server = server;
    this.#prepared = prepared;
    this.#running = running;
  }

  async callTool(call: Call): Promise<JsonObject> {
    const name = textOf(call, "name");
    const tool = this.#prepared.tools.get(name);
    if (tool === undefined)
      throw unknownTool({ server: this.#server, name, known: this.#prepared.tools.keys() });
    this.#allow(call, tool.requiredScopes, name);
    const checked = tool.input.check(call.params?.arguments);
    if ("problems" in checked) return errorResult(invalidArgumentsText(name, checked.problems));
    try {
      const outcome = await this.#run(call, tool.runner, checked.args);
      return toToolResult(outcome, { validator: tool.output, repeatable: isRepeatable(tool) });
    } catch (error) {
      if (error instanceof ArgumentError) return errorResult(error.message);
      throw error;
    }
  }

  async getPrompt(call: Call): Promise<JsonObject> {
    const name = textOf(call, "name");
    const prompt = this.#prepared.prompts.get(name);
    if (prompt === undefined)
      throw unknownPrompt({ server: this.#server, name, known: this.#prepared.prompts.keys() });
    this.#allow(call, prompt.requiredScopes, name);
    const outcome = await this.#runOrThrow(
      call,
      prompt.runner,
      prompt.input.check(call.params?.arguments),
      name,
    );
    const { description } = prompt.definition;
    const content = { type: "text", text: decodeText(outcome.bytes, outcome.contentType) };
    return {
      resultType: "complete",
      description,
      messages: [{ role: "assistant", content }],
    };
  }

  async readResource(call: Call): Promise<JsonObject> {
    const uri = textOf(call, "uri");
    const { resource, args } = this.#findResource(uri);
    this.#allow(call, resource.requiredScopes, uri);
    const outcome = await this.#runOrThrow(call, resource.runner, resource.input.check(args), uri);
    const contents = toContents(uri, outcome, resource.definition.mimeType);
    return { resultType: "complete", contents: [contents], ttlMs: 0, cacheScope: "private" };
  }

  #findResource(uri: string): { resource: ReadyResource | ReadyTemplate; args: JsonObject } {
    const resource = this.#prepared.resources.get(uri);
    if (resource !== undefined) return { resource, args: {} };
    for (const template of this.#prepared.templates) {
      const args = template.match(uri);
      if (args !== undefined) return { resource: template, args };
    }
    throw new PortolanError("RESOURCE_NOT_FOUND", `${this.#server} has no resource "${uri.slice(0, 200)}"`, {
      server: this.#server,
      hint: didYouMean(uri, this.#prepared.resources.keys()),
    });
  }

  #run(call: Call, runner: Runner, args: JsonObject): Promise<Outcome> {
    const { caller } = call;
    const headers = caller?.headers ?? {};
    return this.#running.run(call, (signal, progress) =>
      runner.run({ args, headers, caller, signal, progress }),
    );
  }

  /** Prompts and resources have no error result, so their failures are thrown. */
  async #runOrThrow(call: Call, runner: Runner, checked: Checked, what: string): Promise<Outcome> {
    const server = this.#server;
    if ("problems" in checked) {
      const { problems } = checked;
      throw invalidArguments({ server, tool: what, problems, data: { problems } });
    }
    let outcome: Outcome;
    try {
      outcome = await this.#run(call, runner, checked.args);
    } catch (error) {
      if (error instanceof ArgumentError)
        throw new PortolanError("INPUT_INVALID", error.message, {
          server,
          hint: "Correct the params of the request.",
        });
      throw error;
    }
    if (outcome.failure === undefined) return outcome;
    if (outcome.notFound === true && call.method === "resources/read")
      throw new PortolanError("RESOURCE_NOT_FOUND", outcome.failure, { server });
    const stderr = outcome.stderr?.trim() ?? "";
    throw new PortolanError("RPC_ERROR", stderr === "" ? outcome.failure : `${outcome.failure}\n${stderr}`, {
      server,
      data: { method: call.method, rpcCode: RPC.INTERNAL },
    });
  }

  /** Callers without a scope list are not restricted: only OAuth tokens carry scopes. */
  #allow({ caller }: Call, required: readonly string[] | undefined, what: string): void {
    const scopes = caller?.scopes;
    if (scopes === undefined || required === undefined) return;
    const missing = required.filter((scope) => !scopes.includes(scope));
    if (missing.length === 0) return;
    throw new PortolanError(
      "FORBIDDEN",
      `${what.slice(0, 200)} needs ${missing.length === 1 ? "the scope" : "the scopes"} ${missing.join(", ")}, which the caller's token does not have`,
      {
        server: this.#server,
        data: { requiredScopes: required, missingScopes: missing },
        hint: `Request a token with ${missing.length === 1 ? "this scope" : "these scopes"} at the authorization server of the gateway, or ask the operator of the gateway.`,
      },
    );
  }
}

/** True if a second call does no harm: by the annotations of the tool, or else by its HTTP method. Commands count as not repeatable. */
function isRepeatable({ definition: { annotations }, invocation }: ReadyTool): boolean {
  const hints = [annotations?.readOnlyHint, annotations?.idempotentHint];
  if (hints.some((hint) => hint !== undefined)) return hints.includes(true);
  return invocation.kind === "http" && !["POST", "PATCH"].includes(invocation.method);
}

function toContents(uri: string, outcome: Outcome, declared: string | undefined): ResourceContents {
  const { bytes, contentType } = outcome;
  const received = mediaType(contentType);
  const mimeType = declared ?? (received === "" ? "text/plain" : received);
  // The Content-Type of a response goes before the declared type; a command has none.
  const type = contentType ?? declared;
  if (isTextual(type, bytes)) return { uri, mimeType, text: decodeText(bytes, contentType) };
  return {
    uri,
    mimeType: declared === undefined && received === "" ? "application/octet-stream" : mimeType,
    blob: bytes.toString("base64"),
  };
}

function textOf({ method, params }: Call, field: string): string {
  const value = params?.[field];
  if (typeof value === "string") return value;
  throw new PortolanError("INPUT_INVALID", `${method} needs the parameter "${field}" as a string`, {
    hint: "Correct the params of the request.",
  });
}
