// Handlers of server requests: the capabilities that they imply, and the function that answers with them.

import { fileURLToPath } from "node:url";
import {
  type ElicitRequest,
  type ElicitResult,
  isObject,
  type JsonObject,
  type Root,
  type SampleRequest,
  type SampleResult,
} from "../model/index.ts";
import { callbackFailed, type Diagnostic, PortolanError, type Report } from "../errors/index.ts";
import { createValidator, formatProblem } from "../schema/index.ts";
import type { ServerRequest, ServerRequestHandler } from "../upstream/index.ts";
import { kindOf, ROOTS_KIND } from "./options.ts";
import type { McpHandlers } from "./types.ts";

export function toCapabilities(handlers: McpHandlers): JsonObject {
  return {
    ...(handlers.elicit === undefined ? {} : { elicitation: { form: {}, url: {} } }),
    ...(handlers.sample === undefined ? {} : { sampling: {} }),
    ...(handlers.roots === undefined ? {} : { roots: {} }),
  };
}

const HANDLER_NAMES: Readonly<Record<string, keyof McpHandlers>> = {
  "elicitation/create": "elicit",
  "sampling/createMessage": "sample",
  "roots/list": "roots",
};

/**
 * The answer is undefined if no handler is registered for the request. The server gets the error of a handler as a cancelled
 * request, so the program gets it as a diagnostic.
 */
export function toServerRequestHandler(handlers: McpHandlers, report?: Report): ServerRequestHandler {
  const answer = answerWith(handlers);
  return async (request) => {
    try {
      return await answer(request);
    } catch (error) {
      // A handler that ends with its cancelled request has not failed.
      if (!request.signal.aborted) report?.(handlerFailed(request, error));
      throw error;
    }
  };
}

function handlerFailed({ method, server }: ServerRequest, thrown: unknown): Diagnostic {
  const failed = callbackFailed(`handlers.${HANDLER_NAMES[method] ?? method}`, thrown);
  if (!(thrown instanceof InvalidAnswer)) return { ...failed, server };
  const { message, hint } = thrown;
  return { ...failed, message, hint, server };
}

function answerWith(handlers: McpHandlers): ServerRequestHandler {
  return async ({ method, params, signal, server }) => {
    if (method === "elicitation/create" && handlers.elicit !== undefined) {
      // A server of an earlier revision than 2025-11-25 sends no mode.
      const request = { ...params, mode: params.mode ?? "form" } as ElicitRequest;
      const answer: unknown = await handlers.elicit(request, { signal, server });
      if (!isElicitResult(answer))
        throw new InvalidAnswer("elicit", "has no valid action", server, ACTION_HINT);
      if (answer.action !== "accept" || request.mode === "url") return answer;
      const content = withDefaults(params, answer.content);
      await checkContent(content, params.requestedSchema, server);
      return { ...answer, content };
    }
    if (method === "sampling/createMessage" && handlers.sample !== undefined) {
      const answer: SampleResult = await handlers.sample(params as SampleRequest, { signal, server });
      await checkSample(answer, server);
      return answer;
    }
    if (method === "roots/list" && handlers.roots !== undefined)
      return { roots: [...(await readRoots(handlers.roots, server))] };
    return undefined;
  };
}

/** The folders of `handlers.roots`, which the sandbox of a server grants. Without them, no server can be started as intended. */
export async function rootFolders({ roots = [] }: McpHandlers): Promise<string[]> {
  try {
    const granted = await readRoots(roots);
    return granted.flatMap(({ uri }) => (/^file:\/\/\//i.test(uri) ? [fileURLToPath(uri)] : []));
  } catch (cause) {
    if (cause instanceof InvalidAnswer) throw cause;
    if (typeof roots !== "function")
      throw new PortolanError("CONFIG_INVALID", `handlers.roots is not valid: ${String(cause)}`, {
        hint: 'Write a list of roots such as { uri: "file:///workspace" }.',
        cause,
      });
    const { code, message } = callbackFailed("handlers.roots", cause);
    throw new PortolanError(code, message, {
      hint: "Correct the function in your program: Portolan needs its result before it starts a server.",
      cause,
    });
  }
}

/** The options are checked before; the answer of a function is checked here. */
async function readRoots(
  roots: NonNullable<McpHandlers["roots"]>,
  server?: string,
): Promise<readonly Root[]> {
  if (typeof roots !== "function") return roots;
  const answer = await roots();
  const [problem] = ROOTS_KIND(answer, "roots");
  if (problem !== undefined)
    throw new InvalidAnswer("roots", `is not valid: ${problem.message}`, server, problem.hint ?? ROOTS_HINT);
  return answer;
}

const ROOTS_HINT = 'Return a list of roots such as { uri: "file:///workspace" }.';
const ACTION_HINT =
  'Return { action: "accept", content: { … } }, { action: "decline" } or { action: "cancel" }. The server got "cancel".';
const CONTENT_HINT =
  'Return content that matches request.requestedSchema, or { action: "decline" }. The server got "cancel".';

const SAMPLE_HINT =
  'Return { role: "assistant", content: { type: "text", text: "…" }, model: "…" }. The server got an error.';

/** An answer of a handler that is not sent to the server. */
class InvalidAnswer extends PortolanError {
  constructor(name: keyof McpHandlers, problem: string, server: string | undefined, hint: string) {
    const to = server === undefined ? "" : ` to server "${server}"`;
    super("CALLBACK_FAILED", `The answer of the function "handlers.${name}"${to} ${problem}.`, {
      server,
      hint,
    });
  }
}

function isElicitResult(value: unknown): value is ElicitResult {
  if (!isObject(value)) return false;
  const { action, content } = value;
  const isAction = action === "accept" || action === "decline" || action === "cancel";
  return isAction && (content === undefined || isObject(content));
}

/** Checks the fields of a form. A schema that cannot be used accepts every content. */
async function checkContent(content: JsonObject, schema: unknown, server: string | undefined): Promise<void> {
  if (!isObject(schema)) return;
  const checked = (await createValidator(schema)).check(content);
  if (checked.valid !== false) return;
  const problems = checked.problems.map(formatProblem).join("; ");
  const problem = `does not match the requested form: ${problems}`;
  throw new InvalidAnswer("elicit", problem, server, CONTENT_HINT);
}

const STRING = { type: "string" };
/** A block of another type is passed on as it is. */
const SAMPLE_BLOCK = {
  type: "object",
  required: ["type"],
  properties: { type: STRING },
  allOf: [
    { if: ofType("text"), then: { required: ["text"], properties: { text: STRING } } },
    ...["image", "audio"].map((type) => ({
      if: ofType(type),
      then: { required: ["data", "mimeType"], properties: { data: STRING, mimeType: STRING } },
    })),
  ],
};

function ofType(type: string): JsonObject {
  return { required: ["type"], properties: { type: { const: type } } };
}

async function checkSample(answer: unknown, server: string | undefined): Promise<void> {
  if (!isObject(answer))
    throw new InvalidAnswer("sample", `is ${kindOf(answer)}, not an object`, server, SAMPLE_HINT);
  const schema = {
    type: "object",
    required: ["role", "content", "model"],
    properties: {
      role: { enum: ["user", "assistant"] },
      content: Array.isArray(answer.content) ? { type: "array", items: SAMPLE_BLOCK } : SAMPLE_BLOCK,
      model: STRING,
    },
  };
  const checked = (await createValidator(schema)).check(answer);
  if (checked.valid !== false) return;
  const problems = checked.problems.map(formatProblem).join("; ");
  throw new InvalidAnswer("sample", `is not valid: ${problems}`, server, SAMPLE_HINT);
}

/** Fills fields that the user left empty with the defaults of the form. */
function withDefaults(params: JsonObject, content: JsonObject | undefined): JsonObject {
  const filled: JsonObject = { ...content };
  const schema = isObject(params.requestedSchema) ? params.requestedSchema : {};
  for (const [name, property] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
    if (filled[name] === undefined && isObject(property) && property.default !== undefined)
      filled[name] = property.default;
  }
  return filled;
}
