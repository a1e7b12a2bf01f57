// Approval of a package: everything a person needs to decide, as a pure function of the facts, the proofs and the policy.

import { sandboxFromPermissions } from "../../formats/package/index.ts";
import type { PackagePolicy, SandboxConfig } from "../../model/index.ts";
import { type OriginCheck, unmetRequirements } from "../../packages/index.ts";
import { type Advisory, type AdvisoryAction, assessAdvisories } from "../../registry/index.ts";
import { revealHiddenText } from "./reveal.ts";
import type { PackageFacts } from "./facts.ts";

export interface ApprovalRequest {
  readonly facts: PackageFacts;
  /** Undefined if none were checked. */
  readonly advisories?: readonly Advisory[];
  readonly origin: OriginCheck;
  readonly policy: PackagePolicy;
  readonly now: Date;
  /** An older scope that the scope of this package looks like. */
  readonly looksLike?: string;
}

export interface GrantedPermission {
  readonly name: string;
  /** In plain words: what the server can do with it. */
  readonly means: string;
  /** `wide`: worth a second look. `none`: it opens nothing. */
  readonly reach: "wide" | "narrow" | "none";
}

export interface Approval {
  readonly package: {
    readonly name: string;
    readonly version: string;
    readonly description: string;
    readonly author: string;
    readonly license?: string;
    readonly homepage?: string;
    readonly registry?: string;
    readonly source: string;
    readonly size?: number;
    readonly publishedAt?: string;
  };
  readonly permissions: readonly GrantedPermission[];
  /** The sandbox that the server would get. Undefined if it cannot be enforced: then the package is refused. */
  readonly sandbox?: SandboxConfig;
  readonly sandboxNotes: readonly string[];
  /** Where it runs, if not as a program of this machine. */
  readonly place?: PackageFacts["place"];
  /** False for a format that declares no permissions. */
  readonly declaresPermissions: boolean;
  readonly tools?: readonly { readonly name: string; readonly description: string }[];
  /** The contracts that its driver serves. */
  readonly contracts?: readonly {
    readonly id: string;
    readonly version: string;
    readonly description: string;
  }[];
  readonly settings: readonly {
    readonly key: string;
    readonly secret: boolean;
    readonly required: boolean;
  }[];
  readonly audit?: { readonly reviewer: string; readonly lastReviewed: string; readonly report: string };
  /** Undefined if none were checked. */
  readonly advisories?: readonly {
    readonly id: string;
    readonly severity: string;
    readonly title: string;
    readonly patches?: string;
    readonly action: AdvisoryAction;
  }[];
  readonly provenance: OriginCheck;
  readonly warnings: readonly string[];
  /** Reasons why the policy refuses the package. */
  readonly refusals: readonly Refusal[];
}

export interface Refusal {
  readonly reason: string;
  readonly hint: string;
}

/** Adds the permissions of the launcher, such as uvx, to those that the server declares. */
function withLauncher(
  sandbox: SandboxConfig,
  { place, launcher }: Pick<PackageFacts, "place" | "launcher">,
): SandboxConfig {
  // An image has its own programs, and an engine cannot forbid them: it counts threads as processes.
  if (place === "container") return { ...sandbox, exec: undefined };
  if (launcher !== "uvx") return sandbox;
  return { ...sandbox, exec: { ...sandbox.exec, spawn: true } };
}

const HIDDEN_HINT = "Do not add this package. Report this to the operator of the registry.";

export function createApproval(request: ApprovalRequest): Approval {
  const { facts, advisories, origin, policy, looksLike } = request;
  const texts = new Texts();
  const security = { permissions: facts.permissions ?? [], sandbox: facts.sandbox };
  const result = sandboxFromPermissions(security);
  const assessed = assessAdvisories(advisories ?? [], policy.advisories);
  const { author } = facts;
  const approval = {
    package: {
      name: texts.show("the name", facts.name),
      version: facts.version,
      description: texts.show("the description", facts.description),
      author: texts.show("the author", [author.name, author.email, author.url].filter(Boolean).join(", ")),
      license: facts.license,
      homepage: facts.homepage ?? facts.repository,
      registry: facts.registry,
      source: texts.show("the source", `${facts.source.kind} ${facts.source.url}`.trim()),
      size: facts.source.size,
      publishedAt: facts.publishedAt,
    },
    permissions: security.permissions.map((name) => describePermission(name, security.permissions)),
    sandbox: result.ok ? withLauncher(result.sandbox, facts) : undefined,
    sandboxNotes: [
      ...(result.ok ? result.notes.map(({ message, hint }) => `${capital(message)}. ${hint}`) : []),
      ...(facts.launcher === "uvx"
        ? [
            "uvx fetches the package from a Python package index at each start, and starts Python. Grant the hosts of the index with --allow-net, such as pypi.org and files.pythonhosted.org. portolan.lock records no hash of the package.",
          ]
        : []),
      ...(facts.permissions === undefined && facts.place !== "remote"
        ? [
            "This package format declares no permissions. To grant hosts and folders to the server, add --allow-net, --allow-read and --allow-write.",
          ]
        : []),
    ],
    place: facts.place,
    declaresPermissions: facts.permissions !== undefined,
    tools: facts.tools?.map(({ name, description = "" }) => ({
      name: texts.show("the name of a tool", name),
      description: texts.show(`the description of ${name}`, description),
    })),
    contracts: facts.contracts?.map(({ id, version, description }) => ({
      ...{ id, version },
      description: texts.show(`the description of the contract ${id}`, description),
    })),
    settings: facts.settings.map(({ key, secret, required }) => ({
      key: texts.show("the name of a setting", key),
      secret,
      required,
    })),
    audit: auditOf(facts),
    advisories:
      advisories &&
      assessed.map(({ advisory, action }) => ({
        id: advisory.id,
        severity: advisory.severity,
        title: texts.show(`the title of ${advisory.id}`, advisory.title),
        patches: advisory.patches,
        action,
      })),
    provenance: origin,
  };
  const refusals: Refusal[] = [
    ...(result.ok ? [] : [{ reason: capital(result.problem), hint: result.hint }]),
    ...(looksLike === undefined
      ? []
      : [
          {
            reason: `The scope of ${approval.package.name} looks like the older scope @${looksLike}.`,
            hint: `If you meant @${looksLike}, use that scope. If you know the author of this package, add --allow-look-alike.`,
          },
        ]),
    ...originRefusals(origin),
    ...unmetRequirements(policy.require ?? [], { origin, hasAudit: approval.audit !== undefined }).map(
      (reason) => ({
        reason: `${capital(reason)}.`,
        hint: `packages.require in portolan.yaml sets this requirement. Choose another package, or change the setting.${origin.state === "unchecked" && origin.hint !== undefined ? ` ${origin.hint}` : ""}`,
      }),
    ),
    ...ageRefusals(request),
    ...assessed
      .filter(({ action }) => action === "refuse")
      .map(({ advisory }) => ({
        reason: `${facts.name}@${facts.version} has a known vulnerability: ${advisory.id} (${advisory.severity}), ${advisory.title}.`,
        hint: `${advisory.patches === undefined ? "" : `${advisory.patches.replace(/(?<![.!?])$/, ".")} `}Use another version: portolan versions ${facts.name}.`,
      })),
    ...texts.hidden.map((reason) => ({ reason, hint: HIDDEN_HINT })),
  ];
  const warnings = [
    ...(facts.deprecated === undefined
      ? []
      : [`This version is deprecated${facts.deprecated === "" ? "." : `: ${facts.deprecated}`}`]),
    ...(facts.sandbox?.required === true || facts.permissions === undefined
      ? []
      : [
          "The author does not require a sandbox. Portolan runs the server in a sandbox nevertheless, unless you turn it off with --sandbox off.",
        ]),
  ];
  return { ...approval, warnings, refusals };
}

/** Shows hidden characters in texts of strangers, and remembers where they were. */
class Texts {
  readonly hidden: string[] = [];

  show(what: string, text: string): string {
    const { shown, kinds, decoded } = revealHiddenText(text);
    if (kinds.length > 0)
      this.hidden.push(
        `${capital(what)} has ${kinds.join(", ")}: ${shown}${decoded === undefined ? "" : ` (hidden text: ${decoded})`}`,
      );
    return shown;
  }
}

export function describePermission(name: string, all: readonly string[]): GrantedPermission {
  const result = sandboxFromPermissions({ permissions: [name] });
  const hosts = result.ok ? (result.sandbox.network ?? []).map(String) : [];
  const narrowed = sandboxFromPermissions({ permissions: all });
  const allHosts = narrowed.ok ? (narrowed.sandbox.network ?? []).map(String) : [];
  switch (name) {
    case "network":
      return allHosts.includes("*")
        ? { name, means: "connects to every public host on the internet", reach: "wide" }
        : { name, means: `connects only to ${allHosts.join(", ")}`, reach: "narrow" };
    case "filesystem":
      return {
        name,
        means: "reads and writes files in the folders that you grant; the permission itself grants no folder",
        reach: "narrow",
      };
    case "process":
      return { name, means: "starts other programs inside its sandbox", reach: "wide" };
    default:
      return hosts.length > 0
        ? { name, means: `connects to ${hosts.join(", ")}`, reach: "narrow" }
        : { name, means: "is not known to Portolan and grants nothing", reach: "none" };
  }
}

function auditOf({ audit }: PackageFacts): Approval["audit"] {
  const { reviewer, lastReviewed, report } = audit ?? {};
  if (reviewer === undefined || lastReviewed === undefined || report === undefined) return undefined;
  return {
    reviewer: revealHiddenText(reviewer).shown,
    lastReviewed: lastReviewed.slice(0, 10),
    report: revealHiddenText(report).shown,
  };
}

function originRefusals(origin: OriginCheck): Refusal[] {
  if (origin.state !== "invalid") return [];
  return [
    {
      reason: `The provenance or signature of the package is not valid: ${origin.reason}`,
      hint: "The package or its signature may have been changed. Do not add it.",
    },
  ];
}

function ageRefusals({ facts, policy, now }: ApprovalRequest): Refusal[] {
  const { minReleaseAgeMs = 0 } = policy;
  if (minReleaseAgeMs === 0) return [];
  const published = Date.parse(facts.publishedAt ?? "");
  if (Number.isNaN(published))
    return [
      {
        reason: "The publication date of this version is unknown, but the policy requires a minimum age.",
        hint: "While packages.min_release_age in portolan.yaml is above 0, Portolan refuses every version without a publication date. A smaller age does not help. Choose a version or a package with a publication date, or remove the setting.",
      },
    ];
  const age = now.getTime() - published;
  if (age >= minReleaseAgeMs) return [];
  return [
    {
      reason: `${facts.name}@${facts.version} was published ${describeAge(age)} ago, but packages.min_release_age in portolan.yaml requires an age of ${describeAge(minReleaseAgeMs)}.`,
      hint: `Wait until ${new Date(published + minReleaseAgeMs).toISOString().slice(0, 16)}Z, or choose an older version: portolan versions ${facts.name}.`,
    },
  ];
}

export function describeAge(ms: number): string {
  const [amount, unit] =
    ms >= 2 * 86_400_000
      ? [ms / 86_400_000, "days"]
      : ms >= 2 * 3_600_000
        ? [ms / 3_600_000, "hours"]
        : [Math.max(0, ms) / 60_000, "minutes"];
  const rounded = Math.round(amount);
  return `${rounded} ${rounded === 1 ? unit.slice(0, -1) : unit}`;
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
