// Checks of an audit without network: portolan.yaml against portolan.lock, and portolan.lock against the store.

import {
  PACKAGE_POLICY_DEFAULTS,
  type PackagePolicy,
  parsePackageReference,
  type ServerConfig,
} from "../../model/index.ts";
import { isPortolanError } from "../../errors/index.ts";
import { sandboxFromPermissions } from "../../formats/package/index.ts";
import {
  type Lock,
  type LockedPackage,
  lockProblem,
  openLockedPackage,
  verifyLockedPackage,
} from "../../packages/index.ts";
import { createApproval } from "../packages/approval.ts";
import { lockedFacts } from "../packages/locked-facts.ts";
import { checkFiles } from "./check-files.ts";
import { type Finding, findingAt, type FindingSeverity } from "./findings.ts";

export interface AuditContext {
  readonly lockFile: string;
  readonly lock: Lock;
  readonly servers: readonly ServerConfig[];
  /** True if only some servers are audited. */
  readonly isPartial: boolean;
}

/** A server from a package with its lock entry. */
export interface AuditedPackage {
  readonly server: ServerConfig;
  readonly written: string;
  readonly locked: LockedPackage;
}

export function packageOf({ endpoint }: ServerConfig): string | undefined {
  return endpoint.transport === "stdio" && endpoint.kind === "package" ? endpoint.package : undefined;
}

export function auditedPackages({ servers, lock }: AuditContext): AuditedPackage[] {
  return servers.flatMap((server) => {
    const written = packageOf(server);
    const locked = Object.hasOwn(lock.servers, server.alias)
      ? lock.servers[server.alias]?.package
      : undefined;
    return written === undefined || locked === undefined ? [] : [{ server, written, locked }];
  });
}

/** Drift between portolan.yaml and portolan.lock. */
export function checkLock({ servers, lock, lockFile, isPartial }: AuditContext): Finding[] {
  const findings = servers.flatMap((server) => {
    const written = packageOf(server);
    const entry = Object.hasOwn(lock.servers, server.alias) ? lock.servers[server.alias] : undefined;
    if (written === undefined) return [];
    const reference = parsePackageReference(written);
    const problem =
      typeof reference === "string"
        ? { message: reference, hint: undefined }
        : lockProblem(reference, entry?.package, server.alias);
    const rule = entry?.package === undefined ? "lock-missing" : "lock-mismatch";
    return [
      ...(problem === undefined ? [] : [findingAt(server, rule, "error", problem)]),
      ...(entry?.package !== undefined && entry.tools === undefined
        ? [
            findingAt(server, "unpinned", "warning", {
              message:
                "The tools of the server are not pinned: portolan.lock has no approved definitions of them.",
              hint: `To approve the present tools of the server: portolan pin ${server.alias}`,
            }),
          ]
        : []),
    ];
  });
  if (isPartial) return findings;
  const known = new Set(servers.map(({ alias }) => alias));
  const orphans = Object.keys(lock.servers).filter(
    (alias) => !known.has(alias) && lock.servers[alias]?.package !== undefined,
  );
  return [
    ...findings,
    ...orphans.map((server) => ({
      ...{ rule: "lock-orphan" as const, severity: "warning" as const, server, file: lockFile },
      message: "portolan.lock has an entry for this server, but portolan.yaml does not.",
      hint: "Add the server to portolan.yaml again, or remove its entry from portolan.lock.",
    })),
  ];
}

/** The store, the policy and the sandbox of each package. Downloads nothing. */
export async function checkStore(
  packages: readonly AuditedPackage[],
  policy: PackagePolicy,
): Promise<Finding[]> {
  const found = await Promise.all(packages.map((one) => checkPackage(one, policy)));
  return found.flat();
}

async function checkPackage(
  { server, written, locked }: AuditedPackage,
  policy: PackagePolicy,
): Promise<Finding[]> {
  const reference = parsePackageReference(written);
  if (typeof reference === "string" || lockProblem(reference, locked) !== undefined) return [];
  const { endpoint, alias } = server;
  if (endpoint.transport !== "stdio" || endpoint.kind !== "package") return [];
  const request = { server: alias, reference, lock: endpoint.lock };
  const unchecked = `The package policy and the sandbox of ${locked.name}@${locked.version} were not checked`;
  let files: readonly Finding[] = [];
  try {
    const label = `${locked.name}@${locked.version}`;
    files = checkFiles(server, label, await verifyLockedPackage(request));
    await openLockedPackage(request, { server: alias }, { install: false });
    const facts = await lockedFacts(locked);
    if (facts === undefined)
      return [
        ...files,
        findingAt(server, "document-missing", "note", {
          message: `${unchecked}, because the metadata of the package is not on this machine.`,
          hint: `Install the package: portolan install ${alias}`,
        }),
      ];
    const origin =
      locked.provenance === undefined
        ? ({ state: "unsigned" } as const)
        : ({ state: "verified", proofs: locked.provenance } as const);
    // The age of a version was checked when it was accepted; it only grows. Advisories have a check of their own.
    const { refusals } = createApproval({
      ...{ facts, origin, advisories: [], now: new Date() },
      policy: { ...PACKAGE_POLICY_DEFAULTS, require: policy.require },
    });
    return [
      ...files,
      ...refusals.map(({ reason, hint }) => findingAt(server, "policy", "error", { message: reason, hint })),
      ...checkSandbox(server, locked, facts.sandbox?.required === true),
    ];
  } catch (error) {
    if (!isPortolanError(error)) throw error;
    const isMissing = ["INSTALL_FAILED", "PACKAGE_NOT_FOUND"].includes(error.code);
    return [
      ...files,
      findingAt(server, isMissing ? "document-missing" : "document-invalid", isMissing ? "note" : "error", {
        message: isMissing ? `${unchecked}. ${error.message}` : error.message,
        hint: error.hint,
      }),
    ];
  }
}

function checkSandbox(
  server: ServerConfig,
  { permissions = [] }: LockedPackage,
  isRequired: boolean,
): Finding[] {
  const { mode, network = [], exec } = server.launch?.sandbox ?? {};
  const granted = sandboxFromPermissions({ permissions });
  if (!granted.ok) return [];
  const hosts = granted.sandbox.network ?? [];
  const wider = hosts.includes("*") ? [] : network.filter((host) => !hosts.includes(host));
  const warn = (message: string, severity: FindingSeverity = "warning"): Finding =>
    findingAt(server, "sandbox-relaxed", severity, {
      message,
      hint:
        severity === "error"
          ? "The package requires a sandbox. In portolan.yaml, set the sandbox mode of the server to enforce."
          : "If you want this setting, ignore the finding. Otherwise, change sandbox of the server in portolan.yaml.",
    });
  return [
    ...(mode === "off" || mode === "warn"
      ? [
          warn(
            `The sandbox of the server is not enforced: its mode is ${mode}.`,
            isRequired ? "error" : "warning",
          ),
        ]
      : []),
    ...(wider.length > 0
      ? [
          warn(
            `The sandbox allows hosts that the permissions of the package do not include: ${wider.join(", ")}.`,
          ),
        ]
      : []),
    ...(exec?.spawn === true && !permissions.includes("process")
      ? [
          warn(
            'The sandbox lets the server start other programs, but portolan.lock does not grant the permission "process" to the package.',
          ),
        ]
      : []),
  ];
}
