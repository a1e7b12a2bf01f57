// Schema of the fields that drivers of every kind have in a DRIVER.md.

import { quoted, type TextNode } from "../../document/index.ts";
import {
  checkVersionCommand,
  checkVersionPattern,
  checkVersionRange,
  definedOnly,
  filled,
  HOST,
} from "../../manifest/index.ts";
import {
  anyValue,
  integer,
  list,
  map,
  number,
  object,
  oneOf,
  partialObject,
  type ReadContext,
  text,
  union,
} from "../../schema-builder/index.ts";
import { AUTH, HEALTH_CHECK } from "./auth-schema.ts";
import { INSTALL } from "./install-schema.ts";
import {
  checkPath,
  checkRange,
  COST_CLASS,
  DESCRIPTION,
  DRIVER_RETRY,
  KINDS,
  METADATA,
  NAME,
  tags,
  texts,
  VERSION,
} from "./shared-fields.ts";

const MB = 1024 * 1024;

const COST = object("What a call costs with this driver.", {
  costClass: COST_CLASS,
  unitsPerCall: number("In thousandths of a cent.", { minimum: 0 }).key("cost_units_per_call"),
  currency: text("The currency, in three letters.", {
    pattern: "^[A-Z]{3}$",
    patternHint: "Write three capital letters, such as USD.",
  }),
}).key("cost_override");

const TIMEOUT = integer("How long a call may take, in milliseconds; at most what the contract allows.", {
  minimum: 100,
}).key("timeout_override_ms");

const RETRY = DRIVER_RETRY.key("retry_override");

const MAPPED = union("", [
  text(),
  object("An argument and where it comes from.", {
    from: text("the input that it comes from").required(),
    transform: text("What is done with the value."),
  }),
]);

const uniqueTexts = (description: string) => list(description, text(), { unique: true });

/** One entry of `implements`, without the fields that a kind of driver adds under `metadata`. */
export const BINDING_FIELDS = {
  tool: text("the path of a TOOL.md, or the id of a contract").required().transform(checkPath),
  range: text("the versions of the contract that it serves, as npm writes ranges", { scalars: true })
    .key("version")
    .required()
    .transform(checkRange),
  schemaNarrowing: object("What this driver leaves out.", {
    dropInputs: uniqueTexts("Optional inputs that it does not take."),
    dropOutputs: uniqueTexts("Outputs that it does not give."),
  }),
  mapping: map("Inputs under the names that the backend uses.", MAPPED).transform(
    (mapping, node, context) => {
      checkTargets(node, "input", context);
      return mapping;
    },
  ),
  cost: COST,
  timeoutMs: TIMEOUT,
  retry: RETRY,
  metadata: METADATA,
};

/** Reports two keys of a map with one target, because one of the two values would be lost. */
export function checkTargets(map: TextNode, what: string, { diagnostics }: ReadContext): void {
  const seen = new Map<string, string>();
  for (const { key, value } of map.kind === "object" ? map.entries : []) {
    if (value.kind !== "string") continue;
    const target = String(value.value);
    const first = seen.get(target);
    if (first === undefined) seen.set(target, key);
    else
      diagnostics.add(
        value,
        `${quoted(key)} and ${quoted(first)} both become the ${what} ${quoted(target)}`,
        "Give each a name of its own.",
      );
  }
}

const VERSION_CHECK = object(
  "How the version of the program is found out, and which will do.",
  {
    command: text("a command that prints the version").key("cmd").required(),
    parse: text("a regular expression whose first group is the version", { maxLength: 1_000 }).required(),
    range: text("the versions that will do, as npm writes ranges", { scalars: true }).required(),
    timeoutMs: integer("How long the command may take.", { minimum: 100 }).default(5_000),
  },
  {
    check({ command, parse, range }, at) {
      if (command !== undefined) checkVersionCommand(command, at.entry("command")?.value, at);
      if (parse !== undefined) checkVersionPattern(parse, at.entry("parse")?.value, at);
      if (range !== undefined) checkVersionRange(range, at.entry("range")?.value, at);
    },
  },
);

/** Names of systems and processors as `process.platform` and `process.arch` have them. */
const REQUIRES = object("The machines that it runs on.", {
  os: list(
    "Operating systems.",
    oneOf("", ["darwin", "linux", "windows"]).transform((os) => (os === "windows" ? "win32" : os)),
  ),
  arch: list(
    "Processors.",
    oneOf("", ["x64", "arm64", "x86", "arm"]).transform((arch) => (arch === "x86" ? "ia32" : arch)),
  ),
  minDiskMb: integer("Not used here.", { minimum: 0 }),
  minMemoryMb: integer("Not used here.", { minimum: 0 }),
}).transform(({ os, arch, minDiskMb, minMemoryMb }) =>
  filled(
    definedOnly({
      os,
      arch,
      memoryBytes: minMemoryMb && minMemoryMb * MB,
      diskBytes: minDiskMb && minDiskMb * MB,
    }),
  ),
);

export const IMPLEMENTS_DESCRIPTION = "the contracts that it serves";

export const DRIVER_FIELDS = {
  name: NAME,
  id: text("its id, such as filesystem-mcp", {
    pattern: "^[a-z0-9][a-z0-9.\\-]{1,79}$",
    patternHint:
      "Use 2 to 80 small letters, digits, - and dots, beginning with a letter or a digit: filesystem-mcp.",
  }).required(),
  description: DESCRIPTION,
  version: VERSION,
  kind: oneOf("what kind of driver it is", KINDS).required(),
  implements: list(
    IMPLEMENTS_DESCRIPTION,
    partialObject("A contract, and how it is served.", BINDING_FIELDS),
    { minItems: 1 },
  ).required(),
  install: list("How the program is installed, in order of preference.", INSTALL),
  versionCheck: VERSION_CHECK,
  auth: AUTH,
  network: object("Hosts that it may reach; none when absent.", {
    egress: list("host, *.host, host:port, an address, or * for every public host.", HOST),
    ingress: texts("Not used here."),
  }),
  runner: union("Not used here: an MCP server has a process of its own.", [text(), map("", anyValue())]),
  region: texts('Where it works; ["global"] when absent.'),
  policyTags: tags("Words that the rules of a workspace go by."),
  cost: COST,
  timeoutMs: TIMEOUT,
  retry: RETRY,
  healthCheck: HEALTH_CHECK,
  requires: REQUIRES,
  examples: list(
    "How it is used.",
    object(
      "",
      {
        goal: text("what is to be reached").required(),
        note: text("What is worth knowing.", { empty: true }),
        cmd: text("A command."),
      },
      { open: true },
    ),
  ),
  tags: tags("Words to find it by."),
  metadata: METADATA,
};

/** A driver of any kind. Drivers for other hosts are only checked. */
export const ANY_DRIVER = partialObject(
  "A driver: how one server keeps the promises of tool contracts.",
  DRIVER_FIELDS,
  { open: true },
);
