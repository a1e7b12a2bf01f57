// How a server's program is brought here and boxed, from the checked fields of its declaration.

import type { LaunchSettings, VersionCheck } from "../../model/index.ts";
import { nodeAt, type ObjectNode, type Problems } from "../text/index.ts";
import { definedOnly, filled } from "./defined.ts";
import { toInstallMethods } from "./install.ts";
import type { CheckedLaunch } from "./launch-shape.ts";
import { toSandboxDeclaration } from "./sandbox.ts";
import type { CheckedSandbox } from "./sandbox-shape.ts";

/** Nothing when the server says nothing about it. */
export function toLaunchSettings(
  checked: CheckedLaunch & { readonly sandbox?: CheckedSandbox },
  node: ObjectNode,
  folder: string,
  problems: Problems,
): LaunchSettings | undefined {
  const sandbox = toSandboxDeclaration(checked.sandbox, {
    node: nodeAt(node, "sandbox"),
    folder,
    problems,
  });
  const { os, arch } = checked.requires ?? {};
  return filled(
    definedOnly<LaunchSettings>({
      sandbox,
      install: toInstallMethods(checked.install, nodeAt(node, "install"), folder, problems),
      versionCheck: toVersionCheck(checked.version_check, node, problems),
      requires: filled(definedOnly({ os, arch })),
    }),
  );
}

function toVersionCheck(
  checked: CheckedLaunch["version_check"],
  node: ObjectNode,
  problems: Problems,
): VersionCheck | undefined {
  if (checked?.cmd === undefined || checked.parse === undefined || checked.range === undefined)
    return undefined;
  const place = nodeAt(node, "version_check", "parse") ?? node;
  const groups = groupsOf(checked.parse);
  if (groups === undefined)
    problems.add(
      place,
      "version_check.parse is no regular expression",
      "Write for example v(\\d+\\.\\d+\\.\\d+).",
    );
  else if (groups === 0)
    problems.add(
      place,
      "version_check.parse has no group",
      "Put the part that is the version into parentheses: v(\\d+\\.\\d+\\.\\d+).",
    );
  return definedOnly<VersionCheck>({
    command: checked.cmd,
    parse: checked.parse,
    range: checked.range,
    timeoutMs: checked.timeout,
  });
}

function groupsOf(source: string): number | undefined {
  try {
    // The empty alternative always matches, so that the groups can be counted.
    return (new RegExp(`${source}|`).exec("")?.length ?? 1) - 1;
  } catch {
    return undefined;
  }
}
