// How a server's program is brought here and boxed, from the checked fields of its declaration.

import type { LaunchSettings, VersionCheck } from "../../model/index.ts";
import { nodeAt, type ObjectNode, type Problems } from "../text/index.ts";
import { definedOnly, filled } from "./defined.ts";
import { toInstallMethods } from "./install.ts";
import type { CheckedLaunch } from "./launch-shape.ts";
import { toSandboxDeclaration } from "./sandbox.ts";
import type { CheckedSandbox } from "./sandbox-shape.ts";
import { checkVersionCheck } from "./version-check.ts";

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
  if (checked !== undefined) checkVersionCheck(checked, nodeAt(node, "version_check"), problems);
  if (checked?.cmd === undefined || checked.parse === undefined || checked.range === undefined)
    return undefined;
  return definedOnly<VersionCheck>({
    command: checked.cmd,
    parse: checked.parse,
    range: checked.range,
    timeoutMs: checked.timeout,
  });
}
