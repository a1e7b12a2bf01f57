// The `security` section of a package as a sandbox. Its permissions are few and broad, so anything that they do not name is denied.

import type { SandboxConfig } from "../../model/index.ts";

/** The `security` section of a package, as its format defines it. */
export interface PackageSecurity {
  readonly permissions?: readonly string[];
  readonly sandbox?: { readonly required?: boolean; readonly type?: string };
}

export interface PermissionNote {
  readonly message: string;
  readonly hint: string;
}

export type PermissionResult =
  | { readonly ok: true; readonly sandbox: SandboxConfig; readonly notes: readonly PermissionNote[] }
  /** The required sandbox cannot be enforced, so the server must not start. */
  | { readonly ok: false; readonly problem: string; readonly hint: string };

/** Permissions for single services, with the hosts of each service. */
const SERVICES: Readonly<Record<string, readonly string[]>> = {
  "github-api": ["api.github.com"],
  "gitlab-api": ["gitlab.com"],
  "slack-api": ["slack.com", "*.slack.com"],
  "openai-api": ["api.openai.com"],
  "anthropic-api": ["api.anthropic.com"],
  "google-api": ["*.googleapis.com"],
  "notion-api": ["api.notion.com"],
  "stripe-api": ["api.stripe.com"],
  "discord-api": ["discord.com"],
  "linear-api": ["api.linear.app"],
};

const CORE: readonly string[] = ["network", "filesystem", "process"];

export function isKnownPermission(name: string): boolean {
  return CORE.includes(name) || Object.hasOwn(SERVICES, name);
}

/** The permission of a service's API is a permission to use the network. */
export function impliesNetwork(name: string): boolean {
  return name === "network" || name.endsWith("-api");
}

/**
 * `network` alone is every public host. With the permission for a service beside it, that service is what the network is for.
 * `filesystem` names no folder, so it opens none: those that a caller grants, or a config adds, are all there is.
 */
export function sandboxFromPermissions(security: PackageSecurity): PermissionResult {
  const { required, type } = security.sandbox ?? {};
  const notes: PermissionNote[] = [];
  const unsupported = unsupportedType(type, required === true ? "requires" : "suggests");
  if (unsupported !== undefined && required === true) return { ok: false, ...unsupported };
  if (unsupported !== undefined)
    notes.push({
      message: unsupported.problem,
      hint: "Portolan runs this package in its own sandbox, with the permissions that the package declares.",
    });
  const permissions = new Set(security.permissions ?? []);
  const services = [...permissions].filter((name) => Object.hasOwn(SERVICES, name));
  const hosts = services.flatMap((name) => SERVICES[name] ?? []);
  for (const name of permissions) {
    if (!["network", "filesystem", "process"].includes(name) && !services.includes(name))
      notes.push({
        message: `Portolan does not know the permission ${JSON.stringify(name)}, so the permission grants nothing`,
        hint: "Grant the access that the server needs in its sandbox: network, or fs.",
      });
  }
  if (permissions.has("filesystem"))
    notes.push({
      message: "the permission filesystem names no folder, so it grants access to no folder",
      hint: "Grant folders in the sandbox of the server: fs.read and fs.write; or offer them as roots.",
    });
  const network = hosts.length > 0 ? hosts : permissions.has("network") ? ["*"] : [];
  return {
    ok: true,
    sandbox: {
      // Only the user can relax a sandbox that the package requires.
      ...(required === true ? { mode: "enforce" as const } : {}),
      network,
      exec: { spawn: permissions.has("process") },
    },
    notes,
  };
}

/** Programs of packages run in the sandbox of this machine, never in a container or a WebAssembly runtime. */
function unsupportedType(
  type: string | undefined,
  verb: "requires" | "suggests",
): { problem: string; hint: string } | undefined {
  switch (type) {
    case undefined:
    case "process":
      return undefined;
    case "wasm":
      return {
        problem: `the package ${verb} a sandbox of type wasm, but Portolan does not run WebAssembly`,
        hint: "Use a version of the package that requires a sandbox of type process.",
      };
    case "docker":
      return {
        problem: `the package ${verb} a sandbox of type docker, but Portolan uses docker for container images only`,
        hint: "Use the container image of the server (docker: in portolan.yaml), or a version of the package that requires a sandbox of type process.",
      };
    default:
      return {
        problem: `the package ${verb} a sandbox of type ${JSON.stringify(type)}, which Portolan does not know`,
        hint: "The types are process, wasm and docker.",
      };
  }
}
