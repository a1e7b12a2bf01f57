// Schema of a `sandbox` block: the rules for what a program may touch. All config files share it.

import { parseNetworkRule, type SandboxMode } from "../../model/index.ts";
import { type Place, quoted, type TextNode } from "../document/index.ts";
import {
  duration,
  flag,
  integer,
  list,
  map,
  object,
  oneOf,
  type ReadContext,
  size,
  text,
  union,
  type Value,
} from "../schema-builder/index.ts";
import { filled } from "./defined.ts";
import { toAbsolutePath } from "./paths.ts";

const MODE_DESCRIPTION =
  "enforce: the server starts only if every rule is enforced; warn: it starts, and rules that are not enforced are reported; off: no sandbox.";
const PATHS = "relative to this file, absolute, or with ~/";
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

const MODE = oneOf(MODE_DESCRIPTION, ["enforce", "warn", "off"]);

/** Some YAML writers turn `off` and `on` into booleans, so that those are accepted too. */
const BOOLEAN_MODE = flag().transform((on): SandboxMode => (on ? "enforce" : "off"));

export const HOST = text().transform((written, node, { diagnostics }) => {
  const parsed = parseNetworkRule(written);
  if (parsed.ok) return parsed.rule.text;
  const reason = `${parsed.problem.charAt(0).toLowerCase()}${parsed.problem.slice(1).replace(/\.$/, "")}`;
  diagnostics.add(node, `${quoted(written)} is no host: ${reason}`, parsed.hint);
  return undefined;
});

/** A name is looked up in PATH; a text with a slash is a path. */
const PROGRAM = text().transform((written, node, context) => {
  if (/\s/.test(written.trim()) && !written.includes("/")) {
    context.diagnostics.add(
      node,
      `${quoted(written)} is no program`,
      "Name the program alone, without arguments.",
    );
    return undefined;
  }
  const isPath = written.includes("/") || written.startsWith("~");
  return isPath ? toAbsolutePath(written, node, context) : written;
});

const VARIABLE_NAME = text().transform((name, node, context) => {
  if (VARIABLE.test(name)) return name;
  reportVariable(name, node, context);
  return undefined;
});

const FIXED_VALUES = map(
  "Variables with fixed values; what is secret belongs into env.",
  text("", { scalars: true, empty: true }),
).transform((values, node, context) => {
  for (const { key, value, ...place } of node.kind === "object" ? node.entries : []) {
    if (!VARIABLE.test(key)) reportVariable(key, place, context);
    else if (values[key]?.includes("${") === true)
      context.diagnostics.add(
        value,
        `env.set takes ${key} as it is written, and it contains a reference`,
        "Write it in the server's own env, where references are resolved.",
      );
  }
  return values;
});

function reportVariable(name: string, place: Place, { diagnostics }: ReadContext): void {
  const hint = name.indexOf("=") > 0 ? "To give it a value, use set." : "Use letters, digits and _.";
  diagnostics.add(place, `${quoted(name)} is not the name of a variable`, hint);
}

type ToPath = typeof toAbsolutePath;

/** The `fs` rules. `toPath` makes a written path absolute. */
export const createFsSchema = (toPath: ToPath) => {
  const path = text().transform(toPath);
  return object("Files and folders beside its own.", {
    read: list(`May be read; ${PATHS}.`, path),
    write: list(`May be read and written; ${PATHS}.`, path),
    deny: list(`Hidden, also inside of what is granted; ${PATHS}.`, path),
  }).transform(filled);
};

/** Fields that a driver's own `sandbox` block has too. */
export const SHARED_SANDBOX_FIELDS = {
  env: object("Its environment, beside what the server's own env says.", {
    pass: list("Variables that are passed on from here, by name.", VARIABLE_NAME),
    set: FIXED_VALUES,
  }).transform(filled),
  home: oneOf("private: its HOME is forgotten when it stops; kept: it is there again at the next start.", [
    "private",
    "kept",
  ]),
  limits: object("How much of the machine it may use.", {
    memoryBytes: size("Private memory of each process, such as 512MB; shared memory is not counted.").key(
      "memory",
    ),
    processes: integer("How many processes and threads there may be.", { minimum: 1 }),
    openFiles: integer("How many files each process may have open.", { minimum: 1 }).key(
      "open_files",
      "openFiles",
    ),
    cpuSeconds: duration("Processor time of each single process, such as 60s.")
      .key("cpu")
      .transform((ms) => Math.ceil(ms / 1_000)),
    fileBytes: size("The largest file that it may write, such as 100MB.").key("file_size", "fileSize"),
    niceness: integer("How far it stands back behind other programs, 0 to 19.", { minimum: 0, maximum: 19 }),
  }).transform(filled),
  pathArguments: map(
    "Arguments that are paths or file URIs, by tool (* stands for anything): checked before a call is forwarded.",
    list("", text()),
  )
    .key("path_arguments", "pathArguments")
    .transform(warnOfNoArguments),
};

function warnOfNoArguments<T extends Readonly<Record<string, readonly string[]>>>(
  byTool: T,
  node: TextNode,
  { diagnostics }: ReadContext,
): T {
  for (const entry of node.kind === "object" ? node.entries : []) {
    if (byTool[entry.key]?.length === 0)
      diagnostics.warn(
        entry,
        `no argument of ${quoted(entry.key)} is named`,
        "Name the arguments that are paths.",
      );
  }
  return byTool;
}

const { env, home, limits, pathArguments } = SHARED_SANDBOX_FIELDS;

export const SANDBOX_BLOCK = object("", {
  mode: union(MODE_DESCRIPTION, [MODE, BOOLEAN_MODE]),
  backend: oneOf(
    "Only this one; otherwise whichever the machine has.",
    ["bubblewrap", "unshare", "sandbox-exec", "docker", "srt"],
    { synonyms: { bwrap: "bubblewrap", seatbelt: "sandbox-exec" } },
  ),
  network: union(
    "Hosts that may be reached, none when absent: host, *.host, host:port, an address, or * for every public host.",
    [
      list("", HOST),
      object("", { egress: list("The hosts.", HOST) }).transform(({ egress }) => egress ?? []),
    ],
  ),
  fs: createFsSchema(toAbsolutePath),
  env,
  exec: object("Which programs it may run.", {
    allow: list("The only programs on the PATH beside itself, by name or path.", PROGRAM),
    spawn: flag("false: it may start no other process."),
  }).transform(filled),
  home,
  limits,
  pathArguments,
});

/** `sandbox: off`, or a block with rules. */
export const SANDBOX = union(
  "What the program may touch: a mode, or a block with more. The default profile when absent.",
  [
    MODE.transform((mode): Sandbox => ({ mode })),
    BOOLEAN_MODE.transform((mode): Sandbox => ({ mode })),
    SANDBOX_BLOCK,
  ],
);

export type Sandbox = Value<typeof SANDBOX_BLOCK>;

/** Notes a relaxed sandbox, so that a user learns of it before the server runs. */
export function noteRelaxedSandbox(
  sandbox: Sandbox,
  node: TextNode | undefined,
  { diagnostics }: ReadContext,
): void {
  const place = node?.kind === "object" ? node.entries.find(({ key }) => key === "mode")?.value : node;
  if (place === undefined) return;
  if (sandbox.mode === "off")
    diagnostics.add(
      place,
      "sandbox is off: the program gets every file, host and program that you have",
      "Without this line it gets what portolan why --plan shows; grant what it needs beside that.",
      "info",
    );
  if (sandbox.mode === "warn")
    diagnostics.add(
      place,
      "sandbox only warns: rules that this machine cannot enforce have no effect",
      "See what that is with portolan why --plan, and what would help with portolan doctor.",
      "info",
    );
}
