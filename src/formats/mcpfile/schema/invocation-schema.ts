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
  "Names of arguments that the invocation deliberately does not use. Any other unused argument of inputSchema is an error. Portolan extension.",
  text(),
);

const METHOD = oneOf("HTTP method of the request.", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"], {
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

/** Fields whose description ends with "Portolan extension." are in no version of the format. */
const HTTP_FIELDS = {
  method: METHOD.required(),
  url: text("URL of the request. {name} stands for the argument of the call with this name.").required(),
  headers: map("HTTP headers of the request. Values can contain placeholders such as {name}.", WORD),
  bodyRoot: text(
    "Path of the argument, or of a part of it, that is sent as the whole body, such as data.items[0].",
  ),
  bodyAsArray: flag(
    "If true, the body is sent as an array with one item. Not together with bodyRoot.",
  ).default(false),
  timeoutMs: duration("Maximum time of the request, such as 10s. Default: 30s. Portolan extension.").key(
    "timeout",
  ),
  maxResponseBytes: integer(
    "Maximum size of the response, in bytes. A larger response is an error. Default: 10485760 (10 MiB). Portolan extension.",
    { minimum: 1 },
  ),
  body: oneOf(
    "Format of the body that contains the arguments without a placeholder. Default: json for POST, PUT and PATCH; other requests send these arguments in the query. Portolan extension.",
    ["json", "form"],
  ),
  query: list(
    "Names of arguments that are sent in the query, while the others are sent in the body. Portolan extension.",
    text(),
  ),
  allowPrivate: flag(
    "If true, the host name can resolve to a private IP address. Portolan extension.",
  ).default(false),
  ignoredArguments: IGNORED_ARGUMENTS,
};

const VARIABLE = object(
  "",
  {
    property: text(
      "Property of inputSchema whose value is written. Default: the placeholder in format (not in version 0.0.1), otherwise the property with the name of this key.",
    ),
    format: text("Template for the value, such as --depth {depth}. Default: the value itself.", {
      empty: true,
    }),
    omitIfFalse: flag("If true, nothing is written if the value is false.").default(false),
  },
  CAMEL_CASE,
);

/** The JSON Schema of a sandbox stands once in the file, because every command may have one. */
export const SANDBOX_REFERENCE = { $ref: "#/$defs/Sandbox" };

const CLI_FIELDS = {
  command: text(
    "Program and arguments to run. {name} stands for the argument of the call with this name.",
  ).required(),
  templateVariables: map("Formats of values in the command, by placeholder name.", VARIABLE),
  shell: union(
    "Runs the command as a shell script: bash, sh, or true for bash. Default: false, without a shell. Portolan extension.",
    [flag(), oneOf("", ["bash", "sh"])],
  ),
  cwd: text(
    "Working folder, relative to the folder of this file. Default: the folder of this file. Portolan extension.",
  ),
  env: map(
    "Additional environment variables of the command. Values can contain placeholders. Portolan extension.",
    WORD,
  ),
  appendUnused: flag(
    "If true, unused arguments are appended to the command as --name=value. Portolan extension.",
  ).default(false),
  ignoredArguments: IGNORED_ARGUMENTS,
  timeoutMs: duration("Maximum time of the command, such as 2m. Default: 60s. Portolan extension.").key(
    "timeout",
  ),
  maxOutputBytes: integer(
    "Maximum size of the output, in bytes. Portolan cuts out the middle of longer output. Default: 1048576 (1 MiB). Portolan extension.",
    { minimum: 1 },
  ),
  sandbox: SANDBOX.describe(
    "Sandbox of this command. It cannot allow more than the sandbox of the file. Portolan extension.",
  ).withJsonSchema(() => SANDBOX_REFERENCE),
};

/** The schema builder cannot check changes, because what they may contain depends on the base. */
const changes = (description: string) =>
  map(description, anyValue())
    .withJsonSchema(() => ({ type: "object" }))
    .deferred();

const EXTENDS = partialObject(
  "Invocation that is a base of invocationBases with changes.",
  {
    from: text("Name of the base in invocationBases.").required(),
    extend: changes("Additions to the base: texts and list items are appended, keys are added."),
    override: changes("Fields that replace those of the base."),
    remove: changes("Fields, keys and list items to remove from the base."),
  },
  CAMEL_CASE,
);

/** The schemas of invocations in one version of the format. */
export function createInvocationSchemas(version: Version) {
  const isFirst = version === "0.0.1";
  const httpFields = isFirst
    ? without(HTTP_FIELDS, "headers", "bodyRoot", "bodyAsArray")
    : version === "0.1"
      ? without(HTTP_FIELDS, "bodyRoot", "bodyAsArray")
      : HTTP_FIELDS;
  const http = partialObject("HTTP request that the tool sends.", httpFields, CAMEL_CASE);
  const cli = partialObject("Command that the tool runs.", CLI_FIELDS, CAMEL_CASE);
  /** A base, or a change to one, may leave out anything. */
  const httpPart = partialObject(
    "HTTP request that the tool sends.",
    withoutRequired(httpFields),
    CAMEL_CASE,
  );
  const cliPart = partialObject("Command that the tool runs.", withoutRequired(CLI_FIELDS), CAMEL_CASE);
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
    "Implementation: exactly one of the keys http, cli and extends.",
    isFirst ? without(fields, "extends") : fields,
    CAMEL_CASE,
  ).withJsonSchema((schema) => ({ ...schema, minProperties: 1, maxProperties: 1 }));
}

type InvocationSchemas = ReturnType<typeof createInvocationSchemas>;
export type HttpValue = Value<InvocationSchemas["http"]>;
export type CliValue = Value<InvocationSchemas["cli"]>;
