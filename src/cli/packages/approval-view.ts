// View of an approval on a terminal: who, what, permissions, sandbox, audit, advisories, provenance.

import type { OriginCheck } from "../../packages/index.ts";
import type { Colors } from "../terminal/colors.ts";
import { count, formatBytes, renderRows, type Row, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { type Approval, describeAge } from "./approval.ts";

interface View {
  readonly colors: Colors;
  readonly width: number | undefined;
  readonly now: Date;
}

const MAX_TOOLS = 20;

export function renderApproval(approval: Approval, { colors, width, now }: View): string {
  const { package: about, tools, contracts, settings, audit, advisories, provenance } = approval;
  const head = `${colors.bold(plainLine(about.name, 214))} ${plainLine(about.version, 60)}`;
  const rows: Row[] = [
    { name: "author", value: plainLine(about.author, 300) },
    { name: "license", value: plainLine(about.license, 100) },
    { name: "homepage", value: plainLine(about.homepage, 300) },
    { name: "registry", value: plainLine(about.registry, 300) },
    { name: "source", value: sourceText(about) },
    { name: "published", value: publishedText(about.publishedAt, now) },
    { name: "provenance", ...provenanceRow(provenance, colors) },
    {
      name: "audit",
      value: audit === undefined ? "none" : plainLine(auditText(audit), 400),
      paint: audit === undefined ? colors.yellow : undefined,
    },
    ...(advisories === undefined
      ? [{ name: "advisories", value: notChecked(about) }]
      : advisories.length === 0
        ? [{ name: "advisories", value: "none are known" }]
        : []),
    ...advisoryRows(advisories, colors),
    ...permissionRows(approval, colors),
    { name: "sandbox", value: sandboxText(approval) },
    { name: "tools", value: toolsText(tools) },
    ...(contracts === undefined ? [] : [{ name: "contracts", value: contractsText(contracts) }]),
    { name: "settings", value: settingsText(settings) },
  ];
  return [
    head,
    wrap(plainLine(about.description, 400), width),
    "",
    renderRows(rows, { colors, width }),
    ...approval.warnings.map((text) => wrap(`${colors.yellow("warning")} ${plainLine(text, 500)}`, width, 8)),
    ...approval.refusals.map(({ reason }) =>
      wrap(`${colors.red("refused")} ${plainLine(reason, 1_000)}`, width, 8),
    ),
  ].join("\n");
}

export function advisoryRows(advisories: Approval["advisories"], colors: Colors): Row[] {
  return (advisories ?? []).map(({ id, severity, title, action }) => ({
    name: "advisory",
    value: plainLine(`${id} (${severity}) ${title}`, 300),
    paint: action === "refuse" ? colors.red : action === "warn" ? colors.yellow : undefined,
  }));
}

function permissionRows({ permissions, declaresPermissions, place }: Approval, colors: Colors): Row[] {
  if (place === "remote")
    return [{ name: "permissions", value: "none on this machine: the server runs remotely" }];
  if (!declaresPermissions)
    return [
      {
        name: "permissions",
        value:
          "this package format does not declare permissions, so Portolan grants none; if you use --yes, add --allow none",
      },
    ];
  if (permissions.length === 0)
    return [
      {
        name: "permissions",
        value: "none: the package requests no network, no other programs and none of your files",
      },
    ];
  return permissions.map(({ name, means, reach }) => ({
    name: "permission",
    value: `${plainLine(name, 60)}: ${plainLine(means, 300)}`,
    paint: reach === "wide" ? colors.yellow : undefined,
  }));
}

function sourceText({ source, size }: Approval["package"]): string {
  return `${plainLine(source, 400)}${size === undefined ? "" : ` (${formatBytes(size)})`}`;
}

function notChecked({ registry }: Approval["package"]): string {
  return registry === undefined
    ? "not checked, because the package does not come from a registry"
    : "not checked, because the API of the official MCP registry does not publish advisories";
}

function publishedText(date: string | undefined, now: Date): string {
  const time = Date.parse(date ?? "");
  if (date === undefined || Number.isNaN(time)) return "";
  return `${plainLine(date.slice(0, 10), 10)} (${describeAge(now.getTime() - time)} ago)`;
}

export function originText(origin: OriginCheck): string {
  switch (origin.state) {
    case "verified":
      return origin.proofs.map(({ kind, signer }) => `${TITLES[kind]}: ${plainLine(signer, 300)}`).join("\n");
    case "unsigned":
      return "not signed";
    case "untrusted":
      return `signed by ${plainLine(origin.signer, 200)}, which is not trusted: ${plainLine(origin.reason, 300)}`;
    case "unchecked":
      return [`not checked: ${plainLine(origin.reason, 400)}`, plainLine(origin.hint ?? "", 400)]
        .filter((line) => line !== "")
        .join("\n");
    case "invalid":
      return `not valid: ${plainLine(origin.reason, 400)}`;
  }
}

const TITLES = {
  "npm-provenance": "built by",
  "npm-signature": "signed by the npm registry",
  "mcpb-signature": "signed by",
} as const;

function provenanceRow(origin: OriginCheck, colors: Colors): Omit<Row, "name"> {
  const paint =
    origin.state === "verified" ? colors.green : origin.state === "invalid" ? colors.red : colors.yellow;
  return { value: originText(origin), paint };
}

function auditText({ reviewer, lastReviewed, report }: NonNullable<Approval["audit"]>): string {
  return `by ${reviewer} on ${lastReviewed}, according to the author: ${report}`;
}

function sandboxText({ sandbox, sandboxNotes, place }: Approval): string {
  if (place === "remote")
    return "none: the operator of the server sees the settings and the arguments of every call";
  if (sandbox === undefined) return "cannot be enforced";
  const { network = [], exec } = sandbox;
  const hosts = network.map(String);
  const parts = [
    hosts.length === 0
      ? "no network, except the hosts that you grant"
      : hosts.includes("*")
        ? "every public host"
        : hosts.join(", "),
    place === "container"
      ? "the programs of its image"
      : exec?.spawn === true
        ? "other programs"
        : "no other programs",
    "none of your files, except those that you grant",
  ];
  const notes = sandboxNotes.map((note) => plainLine(note, 400));
  return [parts.join("; "), ...notes].join("\n");
}

function toolsText(tools: Approval["tools"]): string {
  if (tools === undefined) return "not declared; the server lists them when it starts";
  if (tools.length === 0) return "none";
  const shown = tools.slice(0, MAX_TOOLS).map(({ name, description }) => {
    const text = plainLine(description, 80);
    return text === "" ? plainLine(name, 80) : `${plainLine(name, 80)}: ${text}`;
  });
  const more = tools.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${count(more, "other tool")}`] : [])].join("\n");
}

function contractsText(contracts: NonNullable<Approval["contracts"]>): string {
  return contracts
    .slice(0, MAX_TOOLS)
    .map(({ id, version, description }) => plainLine(`${id} ${version}: ${description}`, 160))
    .join("\n");
}

function settingsText(settings: Approval["settings"]): string {
  return settings
    .map(({ key, secret, required }) => {
      const notes = [...(required ? [] : ["optional"]), ...(secret ? ["secret"] : [])];
      return `${plainLine(key, 80)}${notes.length === 0 ? "" : ` (${notes.join(", ")})`}`;
    })
    .join(", ");
}
