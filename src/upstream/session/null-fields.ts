// Removes null values from optional fields: many servers write them, and SDK clients reject the whole message for one.
// Only fields of the specification are checked; schemas, `_meta` entries and vendor fields keep their nulls.

import { isObject, type JsonObject, META, type RpcNotification, type RpcRequest } from "../../model/index.ts";

/** Drops a field that is null, or applies to an object (`Shape`) or to the objects of a list (`List`). */
type Rule = typeof DROP | Shape | List;
const DROP = "drop";

class Shape {
  readonly fields: readonly (readonly [name: string, rule: Rule])[];
  /** The rule for every other field, where all fields are optional. */
  readonly others: Rule | undefined;

  constructor(rules: Readonly<Record<string, Rule>>, others?: Rule) {
    this.fields = Object.entries(rules);
    this.others = others;
  }

  ruleOf(field: string): Rule | undefined {
    for (const [name, rule] of this.fields) if (name === field) return rule;
    return this.others;
  }
}

class List {
  readonly items: Shape;
  /** A required list that is null becomes empty: servers written in Go send empty lists as null. */
  readonly required: boolean;

  constructor(items: Shape, required = false) {
    this.items = items;
    this.required = required;
  }
}

const all = (items: Shape): List => new List(items, true);

const ANY = new Shape({}, DROP);
const ICONS = new List(ANY);
const SERVER_INFO = new Shape({ icons: ICONS }, DROP);
const _meta = new Shape({ [META.SERVER_INFO]: SERVER_INFO });
/** The other keywords of a schema keep null, which may be a default or a constant. */
const SCHEMA = new Shape({ properties: DROP, required: DROP });

const NAMED = { title: DROP, description: DROP, icons: ICONS, _meta } as const;
const TOOL = new Shape({
  ...NAMED,
  inputSchema: SCHEMA,
  outputSchema: SCHEMA,
  annotations: ANY,
  execution: ANY,
});
const PROMPT = new Shape({ ...NAMED, arguments: new List(ANY) });
const RESOURCE_FIELDS = { ...NAMED, mimeType: DROP, size: DROP, annotations: ANY } as const;
const RESOURCE = new Shape(RESOURCE_FIELDS);
const CONTENTS = new Shape({ mimeType: DROP, text: DROP, blob: DROP, _meta });
const TEXT_BLOCK = new Shape({ annotations: ANY, _meta });
/** A content block of any type; a resource link has the fields of a resource. */
const BLOCK = new Shape({ ...RESOURCE_FIELDS, resource: CONTENTS, isError: DROP });
/** The time to live of a task may be null, which means that it has no end. */
const TASK_FIELDS = { statusMessage: DROP, pollInterval: DROP, pollIntervalMs: DROP } as const;

/** Params of elicitation and sampling. */
const REQUEST_PARAMS = new Shape(
  {
    _meta,
    requestedSchema: new Shape({ required: DROP, properties: new Shape({}, ANY) }),
    messages: new List(new Shape({ _meta, content: BLOCK })),
    modelPreferences: new Shape({ hints: new List(ANY) }, DROP),
    tools: new List(TOOL),
    toolChoice: ANY,
  },
  DROP,
);

const RESULT = { _meta, resultType: DROP } as const;
const CACHED = { ...RESULT, ttlMs: DROP, cacheScope: DROP } as const;
const LISTED = { ...CACHED, nextCursor: DROP } as const;
const INPUT_REQUIRED = {
  ...RESULT,
  inputRequests: new Shape({}, new Shape({ params: REQUEST_PARAMS })),
  requestState: DROP,
} as const;
const DESCRIPTION = new Shape({
  ...CACHED,
  capabilities: new Shape({}, ANY),
  serverInfo: SERVER_INFO,
  instructions: DROP,
});

const RESULTS: ReadonlyMap<string, Shape> = new Map([
  ["initialize", DESCRIPTION],
  ["server/discover", DESCRIPTION],
  ["tools/list", new Shape({ ...LISTED, tools: all(TOOL) })],
  ["prompts/list", new Shape({ ...LISTED, prompts: all(PROMPT) })],
  ["resources/list", new Shape({ ...LISTED, resources: all(RESOURCE) })],
  ["resources/templates/list", new Shape({ ...LISTED, resourceTemplates: all(RESOURCE) })],
  [
    "tools/call",
    new Shape({
      ...{ ...INPUT_REQUIRED, ...TASK_FIELDS, isError: DROP, content: all(BLOCK) },
      task: new Shape({ ...TASK_FIELDS, _meta }),
    }),
  ],
  [
    "prompts/get",
    new Shape({ ...INPUT_REQUIRED, description: DROP, messages: all(new Shape({ _meta, content: BLOCK })) }),
  ],
  [
    "resources/read",
    new Shape({ ...INPUT_REQUIRED, ttlMs: DROP, cacheScope: DROP, contents: all(CONTENTS) }),
  ],
  ["completion/complete", new Shape({ ...RESULT, completion: ANY })],
]);
const OTHER_RESULT = new Shape({ ...INPUT_REQUIRED, ...TASK_FIELDS });

const PARAMS: ReadonlyMap<string, Shape> = new Map([
  ["notifications/message", new Shape({ _meta, logger: DROP })],
  ["notifications/progress", new Shape({ _meta, total: DROP, message: DROP })],
  ["elicitation/create", REQUEST_PARAMS],
  ["sampling/createMessage", REQUEST_PARAMS],
]);
const OTHER_PARAMS = new Shape({ _meta });

/** The result of a request without optional fields that are null; the same object when there are none. */
export function resultWithoutNulls(method: string, result: JsonObject): JsonObject {
  return without(result, RESULTS.get(method) ?? OTHER_RESULT);
}

/** The same for a notification or a server request. */
export function messageWithoutNulls<M extends RpcRequest | RpcNotification>(message: M): M {
  if (!isObject(message.params)) {
    if (message.params === undefined) return message;
    const { params: _absent, ...others } = message;
    return others as M;
  }
  const params = without(message.params, PARAMS.get(message.method) ?? OTHER_PARAMS);
  return params === message.params ? message : { ...message, params };
}

function without(value: JsonObject, shape: Shape): JsonObject {
  let copy: JsonObject | undefined;
  const visit = (field: string, rule: Rule | undefined): void => {
    const present = value[field];
    if (present === undefined || rule === undefined) return;
    const kept =
      present === null ? absent(rule) : typeof present === "object" ? inside(present, rule) : present;
    if (kept === present) return;
    copy ??= { ...value };
    if (kept === undefined) delete copy[field];
    else copy[field] = kept;
  };
  if (shape.others === undefined) for (const [field, rule] of shape.fields) visit(field, rule);
  else for (const field of Object.keys(value)) if (field !== "__proto__") visit(field, shape.ruleOf(field));
  return copy ?? value;
}

function absent(rule: Rule): unknown {
  return rule instanceof List && rule.required ? [] : undefined;
}

/** An object in place of a list, or the other way round, is read as it is. */
function inside(present: object, rule: Rule): unknown {
  if (rule === DROP) return present;
  const shape = rule instanceof List ? rule.items : rule;
  if (!Array.isArray(present)) return without(present as JsonObject, shape);
  let copy: unknown[] | undefined;
  for (let n = 0; n < present.length; n += 1) {
    const item: unknown = present[n];
    if (!isObject(item)) continue;
    // Most blocks are text, which has few fields.
    const kept = without(item, shape === BLOCK && item.type === "text" ? TEXT_BLOCK : shape);
    if (kept === item) continue;
    copy ??= [...(present as unknown[])];
    copy[n] = kept;
  }
  return copy ?? present;
}
