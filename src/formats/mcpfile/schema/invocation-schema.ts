// Schemas of invocations: the HTTP request or the command that carries out a tool.

import { SANDBOX } from "../../manifest/index.ts";
import {
  type AnySchema,
  anyValue,
  duration,
  flag,
  integer,
  list,
  map,
  object,
  oneOf,
  partialObject,
  text,
  union,
  type Value,
  without,
  withoutRequired,
} from "../../schema-builder/index.ts";
import { CAMEL_CASE } from "./runtime-schema.ts";
import type { Version } from "./versions.ts";

export const BODY_METHODS: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

const WORD = text("", { scalars: true, empty: true });

const IGNORED_ARGUMENTS = list(
  "Arguments that callers may give and that are deliberately not passed on. Without it, an argument that is used nowhere is an error. Portolan's own.",
  text(),
);

const METHOD = oneOf("the HTTP method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"], {
  synonyms: {
    get: "GET",
    Get: "GET",
    head: "HEAD",
    Head: "HEAD",
    post: "POST",
    Post: "POST",
    put: "PUT",
    Put: "PUT",
    patch: "PATCH",
    Patch: "PATCH",
    delete: "DELETE",
    Delete: "DELETE",
  },
});

/** Fields whose description ends with "Portolan's own." are in no version of the format. */
const HTTP_FIELDS = {
  method: METHOD.required(),
  url: text("where the request goes; {name} is a value of the call").required(),
  headers: map("Headers of the request; their values may have placeholders.", WORD),
  bodyRoot: text("The value at this path is the whole body, such as data.items[0]."),
  bodyAsArray: flag("The body is wrapped in a list.").default(false),
  timeoutMs: duration("How long the request may take. Portolan's own.").key("timeout"),
  maxResponseBytes: integer("The largest response that is read. Portolan's own.", { minimum: 1 }),
  body: oneOf("How arguments that are used nowhere else are sent. Portolan's own.", ["json", "form"]),
  query: list("Arguments that go to the query although the rest goes to the body. Portolan's own.", text()),
  allowPrivate: flag("The host may be a name that leads to a private address. Portolan's own.").default(
    false,
  ),
  ignoredArguments: IGNORED_ARGUMENTS,
};

const VARIABLE = object(
  "",
  {
    property: text("The property of the inputSchema; the key itself when absent."),
    format: text("How it is written, such as --depth {depth}; the value itself when absent.", {
      empty: true,
    }),
    omitIfFalse: flag("Left out when the value is false.").default(false),
  },
  CAMEL_CASE,
);

/** The JSON Schema of a sandbox stands once in the file, because every command may have one. */
export const SANDBOX_REFERENCE = { $ref: "#/$defs/Sandbox" };

const CLI_FIELDS = {
  command: text("what is run; {name} is a value of the call").required(),
  templateVariables: map(
    "How values are written into the command, by the names of its placeholders.",
    VARIABLE,
  ),
  shell: union("Have a shell read the command; true is bash. Portolan's own.", [
    flag(),
    oneOf("", ["bash", "sh"]),
  ]),
  cwd: text("Where it runs, relative to this file's folder. Portolan's own."),
  env: map("Variables of its environment. Portolan's own.", WORD),
  appendUnused: flag("Arguments that are used nowhere are added as --name=value. Portolan's own.").default(
    false,
  ),
  ignoredArguments: IGNORED_ARGUMENTS,
  timeoutMs: duration("How long it may run. Portolan's own.").key("timeout"),
  maxOutputBytes: integer("The most output that is read. Portolan's own.", { minimum: 1 }),
  sandbox: SANDBOX.describe(
    "What it may touch: no more than the sandbox of the file. Portolan's own.",
  ).withJsonSchema(() => SANDBOX_REFERENCE),
};

/** The schema builder cannot check changes, because what they may contain depends on the base. */
const changes = (description: string) =>
  map(description, anyValue())
    .withJsonSchema(() => ({ type: "object" }))
    .deferred();

const EXTENDS = partialObject(
  "An invocation base with changes.",
  {
    from: text("the name of the base").required(),
    extend: changes("Texts to append, keys to add, items to append."),
    override: changes("Fields to replace."),
    remove: changes("Fields to clear, keys and items to take away."),
  },
  CAMEL_CASE,
);

/** The schemas of invocations in one version of the format. */
export function createInvocationSchemas(version: Version) {
  const isFirst = version === "0.0.1";
  const httpFields = isFirst ? without(HTTP_FIELDS, "headers", "bodyRoot", "bodyAsArray") : HTTP_FIELDS;
  const http = partialObject("An HTTP request.", httpFields, CAMEL_CASE);
  const cli = partialObject("A command.", CLI_FIELDS, CAMEL_CASE);
  /** A base, or a change to one, may leave out anything. */
  const httpPart = partialObject("An HTTP request.", withoutRequired(httpFields), CAMEL_CASE);
  const cliPart = partialObject("A command.", withoutRequired(CLI_FIELDS), CAMEL_CASE);
  return {
    http,
    cli,
    httpPart,
    cliPart,
    extends: EXTENDS,
    invocation: createInvocation(http, cli, isFirst).required(),
    base: createInvocation(httpPart, cliPart, isFirst),
  };
}

/** An invocation has exactly one key. Its value is read later, with the arguments of the tool. */
function createInvocation(http: AnySchema, cli: AnySchema, isFirst: boolean) {
  const fields = { http: http.deferred(), cli: cli.deferred(), extends: EXTENDS.deferred() };
  return partialObject(
    "how it is carried out: exactly one of the keys",
    isFirst ? without(fields, "extends") : fields,
    CAMEL_CASE,
  ).withJsonSchema((schema) => ({ ...schema, minProperties: 1, maxProperties: 1 }));
}

type InvocationSchemas = ReturnType<typeof createInvocationSchemas>;
export type HttpValue = Value<InvocationSchemas["http"]>;
export type CliValue = Value<InvocationSchemas["cli"]>;
