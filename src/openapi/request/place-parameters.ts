// Parameters of an operation in the request: placeholders in the URL, headers, cookies. Each becomes an argument of the tool.

import { quoted } from "../../formats/document/index.ts";
import { textOf } from "../document/document.ts";
import type { SpecDiagnostics } from "../document/diagnostics.ts";
import type { Inputs } from "./tool-inputs.ts";
import { FORBIDDEN } from "../limits.ts";
import type { Operation } from "../document/operations.ts";
import { argumentOf } from "./parameter-schema.ts";
import type { Parameter } from "./parameters.ts";
import type { SchemaConverter } from "../schema/schema.ts";
import type { Credentials } from "./security.ts";
import { type Path, Unusable } from "../types.ts";
import { encoded, isToken, literal } from "./url-text.ts";

export interface Sent {
  /** The part after the base URL. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Headers that are no parameters: OpenAPI ignores the first three, and HTTP itself sets the others. */
const OWN_HEADERS: ReadonlySet<string> = new Set(
  (
    "accept content-type authorization " +
    "host content-length transfer-encoding connection keep-alive proxy-connection te trailer upgrade expect"
  ).split(" "),
);

export function sendParameters(
  operation: Operation,
  parameters: readonly Parameter[],
  credentials: Credentials,
  inputs: Inputs,
  converter: SchemaConverter,
  diagnostics: SpecDiagnostics,
): Sent {
  const placeholders = new Map<string, string>();
  const query: string[] = [];
  const headers: Record<string, string> = {};
  const cookies: { readonly text: string; readonly required: boolean; readonly path: Path }[] = [];

  for (const parameter of parameters) {
    if (isSaidAlready(parameter, [...Object.keys(credentials.headers), ...Object.keys(headers)])) continue;
    const { name, in: place, required, at, schema } = parameter;
    const argument = argumentOf(parameter, converter, diagnostics);
    const problem = "problem" in argument ? argument.problem : placeProblem(parameter);
    if ("problem" in argument || problem !== undefined) {
      const reason = `its parameter ${quoted(name)} ${problem}, which a tool cannot send`;
      if (required) throw new Unusable(reason, at.path);
      diagnostics.warn(at.path, `${operation.label}: ${reason}; the parameter is left out`);
      continue;
    }
    if (place === "path" && !operation.route.includes(`{${name}}`)) {
      diagnostics.warn(
        at.path,
        `${operation.label}: the path has no place for its parameter ${quoted(name)}`,
      );
      continue;
    }
    const property = inputs.nameFor(parameter);
    inputs.add(property, argument.schema, required);
    if (argument.keys !== undefined) {
      for (const { key, inner } of argument.keys) query.push(`${encoded(key)}={${property}.${inner}}`);
    } else if (place === "path") placeholders.set(name, `${argument.before ?? ""}{${property}}`);
    else if (place === "query") query.push(`${encoded(name)}={${property}}`);
    else if (place === "header") headers[name] = `{${property}}`;
    else cookies.push({ text: `${name}={${property}}`, required, path: schema.path });
  }

  const optional = cookies.filter((cookie) => !cookie.required);
  const sure = [
    ...credentials.cookies,
    ...cookies.filter(({ required }) => required).map(({ text }) => text),
  ];
  if (sure.length === 0 && optional.length === 1) sure.push(...optional.map(({ text }) => text));
  else if (optional.length > 0) dropCookies(operation, optional, inputs, diagnostics);
  if (sure.length > 0) {
    for (const name of Object.keys(headers)) if (/^cookie$/i.test(name)) delete headers[name];
    headers.Cookie = sure.join("; ");
  }
  return { url: template(operation, placeholders, [...query, ...credentials.query], diagnostics), headers };
}

function isSaidAlready({ name, in: place }: Parameter, said: readonly string[]): boolean {
  if (place !== "header") return false;
  const lower = name.toLowerCase();
  return OWN_HEADERS.has(lower) || said.some((header) => header.toLowerCase() === lower);
}

function placeProblem({ name, in: place }: Parameter): string | undefined {
  if (place !== "header" && place !== "cookie") return undefined;
  return isToken(name) && !FORBIDDEN.has(name) ? undefined : `has a name that no ${place} can have`;
}

/** A header is left out as a whole if an argument in it is absent, so one absent optional cookie would remove the others. */
function dropCookies(
  { label }: Operation,
  cookies: readonly { readonly text: string; readonly path: Path }[],
  inputs: Inputs,
  diagnostics: SpecDiagnostics,
): void {
  for (const { text, path } of cookies) {
    const property = text.slice(text.lastIndexOf("{") + 1, -1);
    delete inputs.properties[property];
    diagnostics.warn(
      path,
      `${label}: the optional cookie ${quoted(text.split("=", 1)[0] ?? "")} is left out`,
    );
  }
}

/** Returns `/pets/{id}?limit={limit}`. Braces that are no parameters are plain text. */
function template(
  { route, label, at }: Operation,
  placeholders: ReadonlyMap<string, string>,
  query: readonly string[],
  diagnostics: SpecDiagnostics,
): string {
  // Some descriptions distinguish operations by a fragment, which is never sent.
  const [sent = ""] = route.split("#", 1);
  const path = sent.split(/(\{[^{}]*\})/).map((part) => {
    const placeholder = part.startsWith("{") ? placeholders.get(part.slice(1, -1)) : undefined;
    if (placeholder === undefined && /^\{.+\}$/.test(part))
      diagnostics.warn(
        at.path,
        `${label}: ${quoted(part)} in its path is not a declared parameter, and is sent unchanged`,
      );
    return placeholder ?? literal(part);
  });
  const url = path.join("");
  return query.length === 0 ? url : `${url}${url.includes("?") ? "&" : "?"}${query.join("&")}`;
}

/** The description of a tool that has none. */
export function sentence({ method, route }: Operation): string {
  return `Sends a ${method} request to ${route.slice(0, 300)}.`;
}

/** Title and description of a tool. An operation without a description gets a generated one. */
export function words(operation: Operation): { title?: string; description: string } {
  const summary = textOf(operation.at, "summary");
  const description = textOf(operation.at, "description") ?? summary ?? sentence(operation);
  return { title: summary, description };
}
