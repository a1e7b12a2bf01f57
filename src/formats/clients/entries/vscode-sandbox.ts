// VS Code's sandbox of a server (`sandboxEnabled`, `sandbox`) as Portolan's, and back.

import {
  isObject,
  type LaunchSettings,
  matchesRule,
  type NetworkRule,
  parseNetworkRule,
  type SandboxConfig,
} from "../../../model/index.ts";
import type { ReadContext } from "../known/context.ts";
import { type EntryReader, kindOf } from "./entry-reader.ts";
import type { EntryWriter } from "./entry-writer.ts";
import { wholePath } from "./read-endpoint.ts";
import type { Path } from "../types.ts";

const FIELDS =
  "Write paths as sandbox.filesystem (allowWrite, denyRead, denyWrite), and hosts as sandbox.network (allowedDomains, deniedDomains).";

const GROUPS: Readonly<Record<string, readonly string[]>> = {
  filesystem: ["allowWrite", "denyRead", "denyWrite"],
  network: ["allowedDomains", "deniedDomains"],
};

/** Returns undefined if the sandbox is not enabled; Portolan's default applies then. */
export function readSandbox(reader: EntryReader, context: ReadContext): LaunchSettings | undefined {
  if (reader.boolean("sandboxEnabled") !== true) return undefined;
  const block = reader.raw("sandbox") ?? {};
  for (const path of isObject(block) ? unknownFields(block) : [])
    reader.report("warning", ["sandbox", ...path], `sandbox.${path.join(".")} is not used`, FIELDS);
  const list = (...path: [string, string]): string[] => {
    const group = isObject(block) ? (block[path[0]] ?? {}) : {};
    const value = isObject(group) ? (group[path[1]] ?? []) : [];
    const at: Path = ["sandbox", ...path];
    if (Array.isArray(value)) return reader.items(value, at, "value");
    reader.refuse(at, `${at.join(".")} is ${kindOf(value)}`, "Make it a list of texts.");
    return [];
  };
  const paths = (name: string): string[] => list("filesystem", name).map((path) => wholePath(path, context));
  const write = paths("allowWrite");
  const deny = [...paths("denyRead"), ...paths("denyWrite")];
  const network = readHosts(reader, list("network", "allowedDomains"), list("network", "deniedDomains"));
  const fs = {
    ...(write.length === 0 ? {} : { write }),
    ...(deny.length === 0 ? {} : { deny }),
  };
  return {
    sandbox: {
      mode: "enforce",
      ...(network.length === 0 ? {} : { network }),
      ...(Object.keys(fs).length === 0 ? {} : { fs }),
    },
  };
}

function unknownFields(block: Readonly<Record<string, unknown>>): string[][] {
  return Object.entries(block).flatMap(([key, group]) => {
    if (!Object.hasOwn(GROUPS, key)) return [[key]];
    const unknown = Object.keys(isObject(group) ? group : {}).filter((name) => !GROUPS[key]?.includes(name));
    return unknown.map((name) => [key, name]);
  });
}

/** A rule with `*` cannot exclude a host, so such rules are left out if there are denied hosts. */
function readHosts(reader: EntryReader, allowed: readonly string[], denied: readonly string[]): string[] {
  const deniedRules = readDenied(reader, denied);
  if (deniedRules === undefined) return [];
  return allowed.flatMap((host, index) => {
    const at = ["sandbox", "network", "allowedDomains", index];
    const parsed = parseNetworkRule(host);
    if (!parsed.ok) {
      reader.report(
        "warning",
        at,
        `${JSON.stringify(host)} is not a host, so Portolan leaves it out`,
        parsed.hint,
      );
      return [];
    }
    const { rule } = parsed;
    if (denied.length === 0) return [rule.text];
    if (rule.kind === "name" || rule.kind === "address")
      return deniedRules.some((one) => isDenied(one, rule.host)) ? [] : [rule.text];
    reader.report(
      "warning",
      at,
      `${rule.text} is left out, because deniedDomains may contain a subdomain of it`,
      "Name the hosts one by one, and remove deniedDomains.",
    );
    return [];
  });
}

/** Undefined if one of them is not a host: Portolan then does not know which hosts are denied. */
function readDenied(reader: EntryReader, denied: readonly string[]): NetworkRule[] | undefined {
  const parsed = denied.map((host) => parseNetworkRule(host));
  parsed.forEach((one, index) => {
    if (!one.ok)
      reader.report(
        "warning",
        ["sandbox", "network", "deniedDomains", index],
        `${JSON.stringify(denied[index])} is not a host, so Portolan cannot deny it and leaves out all allowedDomains`,
        one.hint,
      );
  });
  return parsed.every((one) => one.ok) ? parsed.map(({ rule }) => rule) : undefined;
}

/** A denied host is denied on every port, and `*` denies special addresses and localhost too. */
function isDenied(denied: NetworkRule, host: string): boolean {
  return denied.kind === "public" || denied.ports.some((port) => matchesRule(denied, host, port));
}

/** Writes the rules that VS Code supports; the others become a note. */
export function writeSandbox(
  writer: EntryWriter,
  sandbox: SandboxConfig | undefined,
): Readonly<Record<string, unknown>> {
  if (sandbox === undefined || sandbox.mode === "off") return {};
  const { fs, network = [], mode: _, ...rest } = sandbox;
  const hosts = network.filter((host) => {
    const parsed = parseNetworkRule(host);
    return parsed.ok && parsed.rule.kind !== "public" && parsed.rule.ports.length > 1;
  });
  const lost = [
    ...network.filter((host) => !hosts.includes(host)),
    ...(fs?.read === undefined ? [] : ["fs.read"]),
    ...Object.keys(rest),
  ];
  if (lost.length > 0)
    writer.note(`does not support ${lost.join(", ")} in its sandbox: these rules are left out`);
  const block = {
    ...(fs?.write === undefined && fs?.deny === undefined
      ? {}
      : {
          filesystem: {
            ...(fs.write === undefined ? {} : { allowWrite: fs.write.map((path) => writer.value(path)) }),
            ...(fs.deny === undefined ? {} : { denyRead: fs.deny.map((path) => writer.value(path)) }),
          },
        }),
    ...(hosts.length === 0 ? {} : { network: { allowedDomains: hosts } }),
  };
  return { sandboxEnabled: true, ...(Object.keys(block).length === 0 ? {} : { sandbox: block }) };
}
