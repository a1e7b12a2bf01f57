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

const COST = object("Cost of a call with this driver. Portolan prefers drivers with a lower cost.", {
  costClass: COST_CLASS,
  unitsPerCall: number("Cost of a call in cost units. One unit is a thousandth of a cent of currency.", {
    minimum: 0,
  }).key("cost_units_per_call"),
  currency: text("Currency as a three-letter ISO 4217 code, such as USD.", {
    pattern: "^[A-Z]{3}$",
    patternHint: "Write three capital letters, such as USD.",
  }),
}).key("cost_override");

const TIMEOUT = integer(
  "Maximum time of a call with this driver, in milliseconds. It cannot exceed timeout_ms of the contract.",
  {
    minimum: 100,
  },
).key("timeout_override_ms");

const RETRY = DRIVER_RETRY.key("retry_override");

const MAPPED = union("", [
  text(),
  object("Source of one argument of the tool.", {
    from: text(
      "Source of the value: the name of an input, a path such as $.a.b, or $context.<name> for a value of the call's context.",
    ).required(),
    transform: text("Conversion of the value: lowercase, uppercase, trim, json, string, number or array."),
  }),
]);

const uniqueTexts = (description: string) => list(description, text(), { unique: true });

/** One entry of `implements`, without the fields that a kind of driver adds under `metadata`. */
export const BINDING_FIELDS = {
  tool: text("Path of a TOOL.md, relative to the workspace or this file, or ID of a contract.")
    .required()
    .transform(checkPath),
  range: text("Versions of the contract that the driver serves, as an npm version range such as ^1.0.0.", {
    scalars: true,
  })
    .key("version")
    .required()
    .transform(checkRange),
  schemaNarrowing: object("Parts of the contract that this driver does not support.", {
    dropInputs: uniqueTexts(
      "Optional inputs of the contract that the driver does not support. A call with such an input goes to another driver.",
    ),
    dropOutputs: uniqueTexts("Optional outputs of the contract that the driver does not return."),
  }),
  mapping: map(
    "Mapping of contract inputs to tool arguments. input: argument renames an input; argument: {from: input} sets the source of an argument.",
    MAPPED,
  ).transform((mapping, node, context) => {
    checkTargets(node, "input", context);
    return mapping;
  }),
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
  "Checks the version of the server's program. If the version is out of range, Portolan does not use the driver.",
  {
    command: text("Command that prints the version. Portolan runs it without a shell.").key("cmd").required(),
    parse: text("Regular expression for the output of cmd. Its first capture group is the version.", {
      maxLength: 1_000,
    }).required(),
    range: text("Accepted versions, as an npm version range such as ^1.2.", { scalars: true }).required(),
    timeoutMs: integer("Maximum time of cmd, in milliseconds.", { minimum: 100 }).default(5_000),
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
const REQUIRES = object(
  "Machines on which the server can run. On other machines, Portolan does not start the server.",
  {
    os: list(
      "Supported operating systems. Default: all.",
      oneOf("", ["darwin", "linux", "windows"]).transform((os) => (os === "windows" ? "win32" : os)),
    ),
    arch: list(
      "Supported processor architectures. Default: all.",
      oneOf("", ["x64", "arm64", "x86", "arm"]).transform((arch) => (arch === "x86" ? "ia32" : arch)),
    ),
    minDiskMb: integer("Minimum free disk space where Portolan installs programs, in MiB.", { minimum: 0 }),
    minMemoryMb: integer("Minimum memory of the machine, in MiB.", { minimum: 0 }),
  },
).transform(({ os, arch, minDiskMb, minMemoryMb }) =>
  filled(
    definedOnly({
      os,
      arch,
      memoryBytes: minMemoryMb && minMemoryMb * MB,
      diskBytes: minDiskMb && minDiskMb * MB,
    }),
  ),
);

export const IMPLEMENTS_DESCRIPTION =
  "Contracts that the driver serves, and how the server implements each of them.";

export const DRIVER_FIELDS = {
  name: NAME,
  id: text("Unique ID of the driver, such as filesystem-mcp.", {
    pattern: "^[a-z0-9][a-z0-9.\\-]{1,79}$",
    patternHint:
      "Use 2 to 80 small letters, digits, - and dots, beginning with a letter or a digit: filesystem-mcp.",
  }).required(),
  description: DESCRIPTION,
  version: VERSION,
  kind: oneOf(
    "Kind of driver. Portolan uses drivers of the kind mcp, and only checks the files of other kinds.",
    KINDS,
  ).required(),
  implements: list(
    IMPLEMENTS_DESCRIPTION,
    partialObject("Binding: a contract, and how the driver serves it.", BINDING_FIELDS),
    { minItems: 1 },
  ).required(),
  install: list(
    "Methods to install the server's program. Portolan tries npm, curl, download and vendored in this order. It never runs the other package managers, and only prints their commands.",
    INSTALL,
  ),
  versionCheck: VERSION_CHECK,
  auth: AUTH,
  network: object("Network access of the server. Default: none.", {
    egress: list(
      "Hosts that the server can reach: host, *.host, host:port, an IP address, or * for every public host. Without a port: ports 80 and 443.",
      HOST,
    ),
    ingress: texts("Ignored by Portolan."),
  }),
  runner: union("Ignored by Portolan: it runs each MCP server as a separate process.", [
    text(),
    map("", anyValue()),
  ]),
  region: texts('Regions in which the service processes data, such as eu-west-1. Default: ["global"].'),
  policyTags: tags("Tags that contracts.allow_tags and contracts.deny_tags of portolan.yaml refer to."),
  cost: COST,
  timeoutMs: TIMEOUT,
  retry: RETRY,
  healthCheck: HEALTH_CHECK,
  requires: REQUIRES,
  examples: list(
    "Usage examples, for readers of this file.",
    object(
      "",
      {
        goal: text("Goal of the example.").required(),
        note: text("Additional remarks.", { empty: true }),
        cmd: text("Command of the example."),
      },
      { open: true },
    ),
  ),
  tags: tags("Keywords of the driver."),
  metadata: METADATA,
};

/** A driver of any kind. Drivers for other hosts are only checked. */
export const ANY_DRIVER = partialObject("Driver: how one MCP server implements contracts.", DRIVER_FIELDS, {
  open: true,
});
