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
  "Sandbox mode. enforce (default): the server starts only if every rule can be enforced. warn: it starts anyway, and Portolan reports the rules that are not enforced. off: no sandbox.";
const PATHS = "Paths are absolute, relative to this file, or begin with ~/.";
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

const MODE = oneOf(MODE_DESCRIPTION, ["enforce", "warn", "off"]);

/** Some YAML writers turn `off` and `on` into booleans, so that those are accepted too. */
const BOOLEAN_MODE = flag().transform((on): SandboxMode => (on ? "enforce" : "off"));

export const HOST = text().transform((written, node, { diagnostics }) => {
  const parsed = parseNetworkRule(written);
  if (parsed.ok) return parsed.rule.text;
  const reason = `${parsed.problem.charAt(0).toLowerCase()}${parsed.problem.slice(1).replace(/\.$/, "")}`;
  diagnostics.add(node, `${quoted(written)} is not a host: ${reason}`, parsed.hint);
  return undefined;
});

/** A name is looked up in PATH; a text with a slash is a path. */
const PROGRAM = text().transform((written, node, context) => {
  if (/\s/.test(written.trim()) && !written.includes("/")) {
    context.diagnostics.add(
      node,
      `${quoted(written)} is not a program`,
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
  "Environment variables with fixed values. References such as ${NAME} are not allowed here: write secrets into env of the server.",
  text("", { scalars: true, empty: true }),
).transform((values, node, context) => {
  for (const { key, value, ...place } of node.kind === "object" ? node.entries : []) {
    if (!VARIABLE.test(key)) reportVariable(key, place, context);
    else if (values[key]?.includes("${") === true)
      context.diagnostics.add(
        value,
        `${key} in env.set contains a reference, but env.set does not resolve references`,
        "Write the variable in env of the server, where references are resolved.",
      );
  }
  return values;
});

function reportVariable(name: string, place: Place, { diagnostics }: ReadContext): void {
  const hint =
    name.indexOf("=") > 0
      ? "Write only the name. To give the variable a value, use set."
      : "Use letters, digits and _. Do not begin with a digit.";
  diagnostics.add(place, `${quoted(name)} is not the name of a variable`, hint);
}

type ToPath = typeof toAbsolutePath;

/** The `fs` rules. `toPath` makes a written path absolute. */
export const createFsSchema = (toPath: ToPath) => {
  const path = text().transform(toPath);
  return object(
    "Files and folders that the program can access, in addition to its own folder and the default profile.",
    {
      read: list(`Readable files and folders. ${PATHS}`, path),
      write: list(`Readable and writable files and folders. ${PATHS}`, path),
      deny: list(`Files and folders to hide, also inside of folders in read and write. ${PATHS}`, path),
    },
  ).transform(filled);
};

/** The rules that servers and drivers write alike. A driver reads and writes every one of them. */
export const SHARED_SANDBOX_FIELDS = {
  env: object("Environment variables of the program, in addition to env of the server.", {
    pass: list("Names of environment variables of the Portolan process to pass on.", VARIABLE_NAME),
    set: FIXED_VALUES,
  }).transform(filled),
  home: oneOf(
    "HOME folder of the program. private (default): empty at each start, and removed when the server stops. kept: the content is kept for the next start.",
    ["private", "kept"],
  ),
  limits: object("Resource limits of the program.", {
    memoryBytes: size(
      "Maximum private memory of each process, such as 512MB. Shared memory does not count. Default: 4GiB.",
    ).key("memory"),
    processes: integer("Maximum number of processes and threads of the server together. Default: 256.", {
      minimum: 1,
    }),
    openFiles: integer("Maximum number of open files of each process. Default: 1024.", { minimum: 1 }).key(
      "open_files",
      "openFiles",
    ),
    cpuSeconds: duration("Maximum processor time of each process, such as 60s. Default: no limit.")
      .key("cpu")
      .transform((ms) => Math.ceil(ms / 1_000)),
    fileBytes: size("Maximum size of a file that the program writes, such as 100MB. Default: no limit.").key(
      "file_size",
      "fileSize",
    ),
    niceness: integer("Scheduling priority (nice value) from 0 (default) to 19 (lowest priority).", {
      minimum: 0,
      maximum: 19,
    }),
  }).transform(filled),
  pathArguments: map(
    "Names of tool arguments that are file paths or file URIs, by tool name (* matches any text). Portolan refuses a call if such a path is outside of the sandbox.",
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
        `the list of arguments of ${quoted(entry.key)} is empty`,
        "Name the arguments of the tool that are paths.",
      );
  }
  return byTool;
}

export const SANDBOX_BLOCK = object("", {
  mode: union(MODE_DESCRIPTION, [MODE, BOOLEAN_MODE]),
  backend: oneOf(
    "Sandbox backend to use. Default: the first backend that works on this machine.",
    ["bubblewrap", "unshare", "sandbox-exec", "docker", "srt"],
    { synonyms: { bwrap: "bubblewrap", seatbelt: "sandbox-exec" } },
  ),
  network: union(
    "Hosts that the program can reach: host, *.host, host:port, an IP address, or * for every public host. Without a port: ports 80 and 443. Default: none.",
    [
      list("", HOST),
      object("", {
        egress: list("Hosts that the program can reach. Without a port: ports 80 and 443.", HOST),
      }).transform(({ egress }) => egress ?? []),
    ],
  ),
  fs: createFsSchema(toAbsolutePath),
  exec: object("Rules for other programs that the program starts.", {
    allow: list(
      "Programs on the PATH of the sandbox, by name or path, besides the server's own. Default: all programs of the system.",
      PROGRAM,
    ),
    spawn: flag("If false, the program cannot start other processes. Default: true."),
  }).transform(filled),
  ...SHARED_SANDBOX_FIELDS,
});

/** `sandbox: off`, or a block with rules. */
export const SANDBOX = union(
  "Sandbox of the program: a mode (enforce, warn, off), or an object with rules. Default: the default profile, without network access and without access to your files.",
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
      "sandbox is off: the program can use every file, host and program that you can use",
      "Remove this line to use the default sandbox, which portolan why --plan <server> shows. Then grant what the server needs in addition.",
      "info",
    );
  if (sandbox.mode === "warn")
    diagnostics.add(
      place,
      "sandbox: warn starts the server even if this machine cannot enforce all rules",
      "To see the rules that are not enforced: portolan why --plan <server>. To see how to enforce them: portolan doctor.",
      "info",
    );
}
