// Secrets and variables go into templates once, when the server starts. Arguments of calls are never looked at for them.

import { PortolanError } from "../errors/index.ts";
import { type InvokedServer, isObject, type Template } from "../model/index.ts";

/** Every secret or variable that the server mentions. */
export function envNames(server: InvokedServer): ReadonlySet<string> {
  const names = new Set<string>();
  const { tools, prompts, resources, resourceTemplates } = server;
  for (const { invocation } of [...tools, ...prompts, ...resources, ...resourceTemplates])
    collect(invocation, names);
  return names;
}

/** Each with its value. Throws an error that names all that are missing. */
export function lookUpEnv(
  server: InvokedServer,
  name: string,
  resolveEnv: (name: string) => string | undefined,
): ReadonlyMap<string, string> {
  const names = envNames(server);
  const values = new Map<string, string>();
  const missing: string[] = [];
  for (const wanted of names) {
    const value = resolveEnv(wanted);
    if (value === undefined) missing.push(wanted);
    else values.set(wanted, value);
  }
  if (missing.length > 0) {
    const [them, are] = missing.length === 1 ? ["secret or variable", "is"] : ["secrets or variables", "are"];
    throw new PortolanError("SECRET_MISSING", `${name}: the ${them} ${missing.join(", ")} ${are} not set`, {
      server: name,
      data: { missing },
    });
  }
  return values;
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
