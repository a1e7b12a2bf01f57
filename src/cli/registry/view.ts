// Texts of the registry commands: a package, a version, an advisory.

import type { Advisory, FoundPackage, IndexVersion } from "../../registry/index.ts";
import type { Colors } from "../terminal/colors.ts";
import type { Row } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";

export function infoRows(
  { registry, name, version, entry, metadata, advisories, package: all }: FoundPackage,
  colors: Colors,
): Row[] {
  const { description, author, security, source, metadata: facts } = metadata;
  const { audit, sandbox, permissions = [] } = security;
  const tags = Object.entries(all.tags).map(([tag, at]) => `${tag} ${at}`);
  return [
    { name: "package", value: `${name}@${version}` },
    { name: "description", value: plainLine(description, 200) },
    ...(entry.status === "active"
      ? []
      : [{ name: "status", value: statusText(entry, []), paint: colors.yellow }]),
    { name: "author", value: plainLine(author.name, 100) },
    { name: "license", value: plainLine(facts.license, 100) },
    { name: "source", value: plainLine(`${source.type ?? ""} ${source.url ?? ""}`, 300) },
    { name: "integrity", value: plainLine(source.hash, 120) },
    {
      name: "permissions",
      value: permissions.length === 0 ? "none" : plainLine(permissions.join(", "), 300),
    },
    {
      name: "sandbox",
      value: sandbox?.required === true ? `required (${sandbox.type ?? "process"})` : "not required",
    },
    {
      name: "audit",
      value:
        audit?.reviewer === undefined
          ? "none"
          : plainLine(`${audit.reviewer}, ${audit.lastReviewed ?? ""}`, 200),
    },
    { name: "published", value: entry.publishedAt },
    { name: "tags", value: plainLine(tags.join(", "), 300) },
    { name: "registry", value: plainLine(registry, 200) },
    ...advisories.map((one) => ({ name: "advisory", value: advisoryText(one, colors) })),
  ];
}

export function statusText(version: IndexVersion | undefined, tags: readonly string[]): string {
  if (version === undefined) return "";
  const status = version.status === "deleted" ? "unpublished" : version.status;
  const note =
    version.status === "active"
      ? ""
      : `, ${status}${version.message === undefined ? "" : `: ${plainLine(version.message, 300)}`}`;
  return `${version.publishedAt.slice(0, 10)}${tags.length === 0 ? "" : ` (${tags.join(", ")})`}${note}`;
}

export function advisoryText({ id, severity, title, affected, withdrawn }: Advisory, colors: Colors): string {
  const paint = severity === "critical" || severity === "high" ? colors.red : colors.yellow;
  const names = Object.entries(affected).map(
    ([name, { versions = ["*"] }]) => `${name} ${versions.join(" || ")}`,
  );
  const note = withdrawn === undefined ? "" : " (withdrawn)";
  return `${plainLine(id, 100)} ${paint(severity)} ${plainLine(title, 100)}${note}: ${plainLine(names.join(", "), 300)}`;
}
