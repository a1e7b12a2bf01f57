// References to secrets and variables in templates: replaced once, when the server starts. Arguments of calls are never searched for them.

import { missingSecrets, PortolanError } from "../errors/index.ts";
import { type Invocation, type InvokedServer, isObject, type Template } from "../model/index.ts";
import { listOperations } from "./operations.ts";

/** Every secret or variable that the server mentions. */
export function envNames(server: InvokedServer): ReadonlySet<string> {
  return new Set(listOperations(server).flatMap(({ invocation }) => [...envNamesOf(invocation)]));
}

/** The place of each secret or variable, as the mcpfile names it: `headers.Authorization of tool get (and 2 more places)`. */
export function envPlaces(server: InvokedServer): ReadonlyMap<string, string> {
  const places = new Map<string, string[]>();
  for (const { label, invocation } of listOperations(server))
    for (const [field, value] of fieldsOf(invocation)) {
      const names = new Set<string>();
      collect(value, names);
      for (const name of names) places.set(name, [...(places.get(name) ?? []), `${field} of ${label}`]);
    }
  return new Map(
    [...places].map(([name, [first = "", ...more]]) => [
      name,
      more.length === 0 ? first : `${first} (and ${more.length} more place${more.length === 1 ? "" : "s"})`,
    ]),
  );
}

/** The fields of an invocation that may contain references, by their names in the file. */
function fieldsOf(invocation: Invocation): [string, unknown][] {
  const named = (field: string, list: readonly { readonly name: string; readonly value: Template }[] = []) =>
    list.map(({ name, value }): [string, unknown] => [`${field}.${name}`, value]);
  return invocation.kind === "http"
    ? [["url", invocation.url], ...named("headers", invocation.headers)]
    : [
        ["command", [invocation.words, invocation.shell?.script]],
        ["cwd", invocation.cwd],
        ...named("env", invocation.env),
      ];
}

/** The operations that cannot run without these secrets or variables, and whether they are all that the server has. */
export function blockedBy(
  server: InvokedServer,
  missing: ReadonlySet<string>,
): { readonly names: readonly string[]; readonly all: boolean } {
  const operations = listOperations(server);
  const blocked = operations.filter(({ invocation }) =>
    [...envNamesOf(invocation)].some((name) => missing.has(name)),
  );
  return { names: blocked.map(({ label }) => label), all: blocked.length === operations.length };
}

/** Every secret or variable that one operation mentions. */
export function envNamesOf(invocation: Invocation): ReadonlySet<string> {
  const names = new Set<string>();
  collect(invocation, names);
  return names;
}

export function missingError(server: string, missing: readonly string[]): PortolanError {
  const { message, hint } = missingSecrets(missing.map((name) => ({ name })));
  return new PortolanError("SECRET_MISSING", message, { server, hint, data: { missing } });
}

/** A copy of the data in which every variable is plain text. */
export function replaceVariables<T>(value: T, env: ReadonlyMap<string, string>): T {
  if (Array.isArray(value)) return value.map((item: unknown) => replaceVariables(item, env)) as T;
  if (!isObject(value)) return value;
  if (isEnv(value)) return { kind: "text", text: env.get(value.name) ?? "" } as T;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, replaceVariables(item, env)]),
  ) as T;
}

/** The same for a URL: a variable in a query value is encoded, so that it stays one value; elsewhere it may hold parts of the URL. */
export function replaceInUrl(url: Template, env: ReadonlyMap<string, string>): Template {
  let before = "";
  return url.map((part) => {
    if (part.kind !== "env") {
      before += part.kind === "text" ? part.text : "x";
      return part;
    }
    const value = env.get(part.name) ?? "";
    // The buffer replaces lone surrogates, which encodeURIComponent() rejects.
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
