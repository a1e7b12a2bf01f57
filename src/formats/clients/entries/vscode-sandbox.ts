// VS Code's sandbox of a server (`sandboxEnabled`, `sandbox`) as Portolan's, and back.

import { isObject, type LaunchSettings, parseNetworkRule, type SandboxConfig } from "../../../model/index.ts";
import type { ReadContext } from "../known/context.ts";
import { type EntryReader, kindOf } from "./entry-reader.ts";
import type { EntryWriter } from "./entry-writer.ts";
import { wholePath } from "./read-endpoint.ts";
import type { Path } from "../types.ts";

/** Returns undefined if the sandbox is not enabled; Portolan's default applies then. */
export function readSandbox(reader: EntryReader, context: ReadContext): LaunchSettings | undefined {
  if (reader.boolean("sandboxEnabled") !== true) return undefined;
  const block = reader.raw("sandbox") ?? {};
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

/** A rule with `*` cannot exclude a host, so such rules are left out if there are denied hosts. */
function readHosts(reader: EntryReader, allowed: readonly string[], denied: readonly string[]): string[] {
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
    if (denied.length === 0 || parsed.rule.kind === "name" || parsed.rule.kind === "address")
      return denied.includes(host) ? [] : [parsed.rule.text];
    reader.report(
      "warning",
      at,
      `${parsed.rule.text} is left out, because deniedDomains may contain a subdomain of it`,
      "Name the hosts one by one, and remove deniedDomains.",
    );
    return [];
  });
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
