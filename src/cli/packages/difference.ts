// Difference between an accepted version of a package and a newer one: a pure function, and its view.

import { isDeepStrictEqual } from "node:util";
import {
  compareWithRemembered,
  type LockedPackage,
  type OriginCheck,
  type RememberedProofs,
} from "../../packages/index.ts";
import type { Colors } from "../terminal/colors.ts";
import { formatBytes, renderRows, type Row } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { type Approval, describePermission, type Refusal } from "./approval.ts";
import { advisoryRows, originText } from "./approval-view.ts";
import type { PackageFacts } from "./facts.ts";
import { compareVersionTexts } from "./version-order.ts";

export interface PackageDifference {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly permissions: { readonly added: readonly string[]; readonly removed: readonly string[] };
  /** Bytes of the downloaded file, as far as they are declared. */
  readonly size: { readonly from?: number; readonly to?: number };
  readonly tools: {
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly changed: readonly string[];
  };
  /** The contracts of its driver. */
  readonly contracts: {
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly changed: readonly string[];
  };
  readonly settings: { readonly added: readonly string[]; readonly removed: readonly string[] };
  readonly source?: { readonly from: string; readonly to: string };
  readonly provenance: { readonly from: RememberedProofs; readonly to: OriginCheck };
  readonly author?: { readonly from: string; readonly to: string };
}

export interface DifferenceRequest {
  readonly locked: LockedPackage;
  /** The facts of the accepted version, if its document is still in the store. */
  readonly before: PackageFacts | undefined;
  readonly after: PackageFacts;
  readonly origin: OriginCheck;
  readonly source: string;
}

export function comparePackages(request: DifferenceRequest): PackageDifference {
  const { locked, before, after, origin, source } = request;
  const tools = new Map(before?.tools?.map(({ name, description }) => [name, description]));
  const newTools = new Map(after.tools?.map(({ name, description }) => [name, description]));
  const contracts = new Map(before?.contracts?.map((contract) => [contract.id, contract]));
  const newContracts = new Map(after.contracts?.map((contract) => [contract.id, contract]));
  return {
    name: locked.name,
    from: locked.version,
    to: after.version,
    permissions: compareLists(locked.permissions ?? [], after.permissions ?? []),
    size: { from: before?.source.size, to: after.source.size },
    tools: {
      ...compareLists([...tools.keys()], [...newTools.keys()]),
      changed: [...newTools].flatMap(([name, text]) =>
        tools.has(name) && tools.get(name) !== text ? [name] : [],
      ),
    },
    contracts: {
      ...compareLists([...contracts.keys()], [...newContracts.keys()]),
      changed: [...newContracts].flatMap(([id, contract]) => {
        const old = contracts.get(id);
        const { origin } = contract;
        return old === undefined || isDeepStrictEqual({ ...old, origin }, contract) ? [] : [id];
      }),
    },
    settings: compareLists(
      (before?.settings ?? []).map(({ key }) => key),
      after.settings.map(({ key }) => key),
    ),
    source: hostOf(locked.source) === hostOf(source) ? undefined : { from: locked.source, to: source },
    provenance: { from: locked.provenance ?? [], to: origin },
    author:
      before === undefined || before.author.name === after.author.name
        ? undefined
        : { from: before.author.name, to: after.author.name },
  };
}

/** Reasons why an update is refused whatever a person says, unless an option allows it. */
export function refuseUpdate(
  { name, from, to, provenance }: PackageDifference,
  { allowDowngrade = false }: { readonly allowDowngrade?: boolean } = {},
): Refusal[] {
  const isLower = compareVersionTexts(to, from) < 0;
  const origin = compareWithRemembered(provenance.to, provenance.from);
  return [
    ...(isLower && !allowDowngrade
      ? [
          {
            reason: `${name}@${to} is lower than the version ${from} in portolan.lock.`,
            hint: "An attacker could offer an old version with known vulnerabilities. If you want this version, add --allow-downgrade.",
          },
        ]
      : []),
    ...(origin.state === "invalid" && provenance.to.state === "unchecked"
      ? [
          {
            reason: `The origin of ${name}@${to} (provenance or signature) cannot be compared with the origin of ${from}: ${origin.reason}.`,
            hint: `Run the command again when the registry answers. ${provenance.to.hint ?? "Check the network."}`,
          },
        ]
      : []),
    ...(origin.state === "invalid" && provenance.to.state !== "invalid" && provenance.to.state !== "unchecked"
      ? [
          {
            reason: `${name}@${to} has a different origin (provenance or signature) than ${from}: ${origin.reason}.`,
            hint: "Ask the author of the package. To accept the new origin nevertheless, remove the server and add it again.",
          },
        ]
      : []),
  ];
}

interface DifferenceView {
  readonly colors: Colors;
  readonly width: number | undefined;
  /** Of the newer version. */
  readonly advisories?: Approval["advisories"];
}

export function renderDifference(
  difference: PackageDifference,
  after: PackageFacts,
  { colors, width, advisories }: DifferenceView,
): string {
  const { name, from, to, permissions, size, tools, contracts, settings, source, provenance, author } =
    difference;
  const all = after.permissions ?? [];
  const list = (names: readonly string[]): string => plainLine(names.join(", "), 400);
  const rows: Row[] = [
    ...permissions.added.map((one) => ({
      name: "new permission",
      value: `${plainLine(one, 60)}: ${plainLine(describePermission(one, all).means, 300)}`,
      paint: colors.yellow,
    })),
    { name: "permissions dropped", value: list(permissions.removed) },
    ...(permissions.added.length + permissions.removed.length === 0
      ? [{ name: "permissions", value: "unchanged" }]
      : []),
    { name: "size", value: sizeText(size) },
    { name: "new tools", value: list(tools.added), paint: colors.yellow },
    { name: "changed tools", value: list(tools.changed), paint: colors.yellow },
    { name: "tools dropped", value: list(tools.removed) },
    { name: "new contracts", value: list(contracts.added), paint: colors.yellow },
    { name: "changed contracts", value: list(contracts.changed), paint: colors.yellow },
    { name: "contracts dropped", value: list(contracts.removed) },
    { name: "new settings", value: list(settings.added) },
    {
      name: "source",
      value: source === undefined ? "" : plainLine(`${source.to}, before ${source.from}`, 500),
      paint: colors.yellow,
    },
    {
      name: "author",
      value: author === undefined ? "" : plainLine(`${author.to}, before ${author.from}`, 300),
      paint: colors.yellow,
    },
    { name: "provenance", value: originText(provenance.to) },
    ...advisoryRows(advisories, colors),
  ];
  return `${colors.bold(plainLine(name, 214))} ${plainLine(from, 60)} → ${plainLine(to, 60)}\n${renderRows(rows, { colors, width })}`;
}

function sizeText({ from, to }: PackageDifference["size"]): string {
  if (to === undefined) return "not declared";
  if (from === undefined || from === to) return formatBytes(to);
  const percent = Math.round(((to - from) / from) * 100);
  return `${formatBytes(to)}, before ${formatBytes(from)} (${percent >= 0 ? "+" : ""}${percent} %)`;
}

function compareLists(
  before: readonly string[],
  after: readonly string[],
): { readonly added: readonly string[]; readonly removed: readonly string[] } {
  return {
    added: after.filter((one) => !before.includes(one)),
    removed: before.filter((one) => !after.includes(one)),
  };
}

/** A file at another host is another place to trust. */
function hostOf(source: string): string {
  return URL.canParse(source) ? new URL(source).host || source.split("@", 2)[0] || source : source;
}
