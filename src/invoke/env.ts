// Secrets and variables go into templates once, when the server starts. Arguments of calls are never looked at for them.

import { PortolanError } from "../errors/index.ts";
import { type Invocation, type InvokedServer, isObject, type Template } from "../model/index.ts";

/** Every secret or variable that the server mentions. */
export function envNames(server: InvokedServer): ReadonlySet<string> {
  return new Set(operationsOf(server).flatMap(({ invocation }) => [...envNamesOf(invocation)]));
}

/** The operations that cannot run without these secrets or variables, and whether they are all that the server has. */
export function blockedBy(
  server: InvokedServer,
  missing: ReadonlySet<string>,
): { readonly names: readonly string[]; readonly all: boolean } {
  const operations = operationsOf(server);
  const blocked = operations.filter(({ invocation }) =>
    [...envNamesOf(invocation)].some((name) => missing.has(name)),
  );
  return { names: blocked.map(({ of }) => of), all: blocked.length === operations.length };
}

/** Every secret or variable that one operation mentions. */
export function envNamesOf(invocation: Invocation): ReadonlySet<string> {
  const names = new Set<string>();
  collect(invocation, names);
  return names;
}

function operationsOf(server: InvokedServer): { readonly of: string; readonly invocation: Invocation }[] {
  const { tools, prompts, resources, resourceTemplates } = server;
  return [
    ...tools.map(({ definition, invocation }) => ({ of: `tool ${definition.name}`, invocation })),
    ...prompts.map(({ definition, invocation }) => ({ of: `prompt ${definition.name}`, invocation })),
    ...resources.map(({ definition, invocation }) => ({ of: `resource ${definition.uri}`, invocation })),
    ...resourceTemplates.map(({ definition, invocation }) => ({
      ...{ of: `resource template ${definition.uriTemplate}`, invocation },
    })),
  ];
}

export function missingError(server: string, missing: readonly string[]): PortolanError {
  const [them, are] = missing.length === 1 ? ["secret or variable", "is"] : ["secrets or variables", "are"];
  return new PortolanError("SECRET_MISSING", `${server}: the ${them} ${missing.join(", ")} ${are} not set`, {
    server,
    data: { missing },
  });
}

/** The same data with every variable in it made plain text. */
export function putIn<T>(value: T, env: ReadonlyMap<string, string>): T {
  if (Array.isArray(value)) return value.map((item: unknown) => putIn(item, env)) as T;
  if (!isObject(value)) return value;
  if (isEnv(value)) return { kind: "text", text: env.get(value.name) ?? "" } as T;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, putIn(item, env)])) as T;
}

/** The same for a URL: what stands as a value in its query stays one value, whatever it holds. Elsewhere it may be a part of the URL. */
export function putInUrl(url: Template, env: ReadonlyMap<string, string>): Template {
  let before = "";
  return url.map((part) => {
    if (part.kind !== "env") {
      before += part.kind === "text" ? part.text : "x";
      return part;
    }
    const value = env.get(part.name) ?? "";
    // By way of a buffer, because half a character cannot be encoded.
    const text = IN_QUERY_VALUE.test(before) ? encodeURIComponent(Buffer.from(value).toString()) : value;
    before += text;
    return { kind: "text", text };
  });
}

const IN_QUERY_VALUE = /\?(?:[^#]*&)?[^&=#]*=[^&#]*$/;

function collect(value: unknown, names: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) collect(item, names);
  else if (isObject(value)) {
    if (isEnv(value)) names.add(value.name);
    else for (const item of Object.values(value)) collect(item, names);
  }
}

function isEnv(value: object): value is { kind: "env"; name: string } {
  return "kind" in value && value.kind === "env" && "name" in value && typeof value.name === "string";
}
