// The shapes of invocations, for the checker and for the JSON Schemas that editors use.

import { SANDBOX } from "../manifest/index.ts";
import type { ObjectShape, Shape } from "../document/index.ts";
import type { Version } from "./versions.ts";

export type HttpMethod = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

const METHODS: readonly HttpMethod[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
export const BODY_METHODS: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

const bytes = (description: string): Shape => ({ type: "number", integer: true, minimum: 1, description });

const HTTP_FIELDS: Readonly<Record<string, Shape>> = {
  method: {
    type: "string",
    required: true,
    enum: METHODS,
    synonyms: Object.fromEntries(
      METHODS.flatMap((name) => [
        [name.toLowerCase(), name],
        [`${name.charAt(0)}${name.slice(1).toLowerCase()}`, name],
      ]),
    ),
    description: "the HTTP method",
  },
  url: {
    type: "string",
    required: true,
    description: "where the request goes; {name} is a value of the call",
  },
};

const LATER_HTTP_FIELDS: Readonly<Record<string, Shape>> = {
  headers: {
    type: "map",
    values: { type: "string", scalars: true, empty: true },
    description: "Headers of the request; their values may have gaps.",
  },
  bodyRoot: {
    type: "string",
    description: "The value at this path is the whole body, such as data.items[0].",
  },
  bodyAsArray: { type: "boolean", default: false, description: "The body is wrapped in a list." },
};

/** Ours, for both kinds of invocation. */
const IGNORED_ARGUMENTS: Shape = {
  type: "list",
  items: { type: "string" },
  description:
    "Arguments that callers may give and that are deliberately not passed on. Without it, an argument that is used nowhere is an error. Portolan's own.",
};

/** Ours; no version of the format has them. */
const OWN_HTTP_FIELDS: Readonly<Record<string, Shape>> = {
  timeout: { type: "duration", description: "How long the request may take. Portolan's own." },
  maxResponseBytes: bytes("The largest response that is read. Portolan's own."),
  body: {
    type: "string",
    enum: ["json", "form"],
    description: "How arguments that are used nowhere else are sent. Portolan's own.",
  },
  query: {
    type: "list",
    items: { type: "string" },
    description: "Arguments that go to the query although the rest goes to the body. Portolan's own.",
  },
  allowPrivate: {
    type: "boolean",
    default: false,
    description: "The host may be a name that leads to a private address. Portolan's own.",
  },
  ignoredArguments: IGNORED_ARGUMENTS,
};

export function httpShape(version: Version): ObjectShape {
  const later = version === "0.0.1" ? {} : LATER_HTTP_FIELDS;
  return {
    type: "object",
    description: "An HTTP request.",
    fields: { ...HTTP_FIELDS, ...later, ...OWN_HTTP_FIELDS },
  };
}

const VARIABLE: ObjectShape = {
  type: "object",
  fields: {
    property: { type: "string", description: "The property of the inputSchema; the key itself when absent." },
    format: {
      type: "string",
      empty: true,
      description: "How it is written, such as --depth {depth}; the value itself when absent.",
    },
    omitIfFalse: { type: "boolean", default: false, description: "Left out when the value is false." },
  },
};

export const CLI_SHAPE: ObjectShape = {
  type: "object",
  description: "A command.",
  fields: {
    command: { type: "string", required: true, description: "what is run; {name} is a value of the call" },
    templateVariables: {
      type: "map",
      values: VARIABLE,
      description: "How values are written into the command, by the names of its gaps.",
    },
    shell: {
      type: "union",
      options: [{ type: "boolean" }, { type: "string", enum: ["bash", "sh"] }],
      description: "Have a shell read the command; true is bash. Portolan's own.",
    },
    cwd: { type: "string", description: "Where it runs, relative to this file's folder. Portolan's own." },
    env: {
      type: "map",
      values: { type: "string", scalars: true, empty: true },
      description: "Variables of its environment. Portolan's own.",
    },
    appendUnused: {
      type: "boolean",
      default: false,
      description: "Arguments that are used nowhere are added as --name=value. Portolan's own.",
    },
    ignoredArguments: IGNORED_ARGUMENTS,
    timeout: { type: "duration", description: "How long it may run. Portolan's own." },
    maxOutputBytes: bytes("The most output that is read. Portolan's own."),
    sandbox: {
      type: "built",
      schema: SANDBOX,
      description: "What it may touch: no more than the sandbox of the file. Portolan's own.",
    },
  },
};

/** The same without what must be there: a base, or a change to one, may leave out anything. */
export function partial(shape: ObjectShape): ObjectShape {
  const fields = Object.entries(shape.fields).map(([name, field]): [string, Shape] => {
    const { required: _, ...rest } = field;
    return [name, rest];
  });
  return { ...shape, fields: Object.fromEntries(fields) };
}

/** What `extend`, `override` and `remove` hold depends on the base, so they are checked apart. */
const CHANGES: Shape = { type: "map", values: { type: "string" } };

export const EXTENDS_SHAPE: ObjectShape = {
  type: "object",
  description: "An invocation base with changes.",
  fields: {
    from: { type: "string", required: true, description: "the name of the base" },
    extend: { ...CHANGES, description: "Texts to append, keys to add, items to append." },
    override: { ...CHANGES, description: "Fields to replace." },
    remove: { ...CHANGES, description: "Fields to clear, keys and items to take away." },
  },
};

/** Exactly one of the keys; that is checked apart, since it takes more than a shape to say. */
export function invocationShape(version: Version, base = false): ObjectShape {
  const http = httpShape(version);
  return {
    type: "object",
    description: "how it is carried out: exactly one of the keys",
    ...(base ? {} : { required: true as const }),
    fields: {
      http: base ? partial(http) : http,
      cli: base ? partial(CLI_SHAPE) : CLI_SHAPE,
      ...(version === "0.0.1" ? {} : { extends: EXTENDS_SHAPE }),
    },
  };
}
