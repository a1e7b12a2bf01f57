// Describes a route: the drivers that each phase keeps, those that it rejects, and why.

import type { DriverReport, Phase, PhaseName, Resolution } from "../../contracts/index.ts";
import type { Contract, ContractsEndpoint, CostOverride, Driver } from "../../model/index.ts";
import type { Colors } from "../terminal/colors.ts";
import { wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import type { ContractsSource } from "../workspace/contracts.ts";

interface Resolved {
  readonly contract: Contract;
  readonly resolution: Resolution;
  readonly why: string | undefined;
  readonly own: ContractsSource;
  readonly drivers: readonly DriverReport[];
  readonly pin: string | undefined;
  readonly region: string | undefined;
}

interface View {
  readonly colors: Colors;
  readonly width: number | undefined;
}

const PHASES: readonly (readonly [PhaseName, string])[] = [
  ["candidates", "drivers that serve this version and accept these inputs"],
  ["capability", "drivers that are verified, logged in and healthy"],
  ["policy", "drivers whose tags and region the policy allows"],
  ["pin", "the driver that the call names"],
  ["rank", "best driver first"],
  ["bind", "the driver that is called"],
];

export function describeResolution(resolved: Resolved, { colors, width }: View): string {
  const { contract, resolution, why } = resolved;
  const lines = [`${colors.bold(`${contract.id}@${contract.version}`)} ${plainLine(contract.name)}`, ""];
  const add = (text: string, hang = 0): void => void lines.push(wrap(text, width, hang));
  PHASES.forEach(([name, meaning], index) => {
    const phase = resolution.phases.find((one) => one.phase === name);
    const number = colors.dim(`${index + 1}`);
    if (phase === undefined) return add(`${number} ${colors.dim(`${name}: not reached`)}`);
    add(`${number} ${name} ${colors.dim(`(${meaning})`)}: ${keptLabel(phase, resolved, colors)}`, 2);
    for (const { driver, reason, code } of phase.rejected)
      add(`    ${colors.red("-")} ${driver}: ${plainLine(reason, 600)} ${colors.dim(`[${code}]`)}`, 2);
    if (name === "rank" && why !== undefined) add(`    ${plainLine(why, 400)}`);
  });
  lines.push("");
  const { selected, error } = resolution;
  if (selected === undefined)
    add(
      `${colors.red("No driver")} ${colors.dim(`[${error?.code ?? "no_route"}]`)} ${plainLine(error?.message ?? "", 1_000)}`,
      2,
    );
  else add(`${colors.green("Chosen")} ${bindingLabel(selected, resolved)}`, 2);
  return lines.join("\n");
}

function keptLabel({ phase, kept }: Phase, { pin, region }: Resolved, colors: Colors): string {
  const note =
    phase === "pin"
      ? pin === undefined
        ? "the call names no driver"
        : `the call names ${plainLine(pin, 80)}`
      : phase === "policy" && region !== undefined
        ? `region ${plainLine(region, 80)}`
        : "";
  const names = kept.length === 0 ? colors.red("none") : kept.join(", ");
  return note === "" ? names : `${names} ${colors.dim(`(${note})`)}`;
}

/** `files-mcp@1.0.0: read_text_file(path), from $.content` */
function bindingLabel(selected: string, { contract, own }: Resolved): string {
  const driver = own.endpoint.drivers.find((one) => one.driver.id === selected)?.driver;
  const binding = driver?.implements.find((one) => serves(one.tool, contract));
  if (driver === undefined || binding === undefined) return selected;
  const renamed = Object.entries(binding.argumentMapping).filter(([from, to]) => from !== to);
  const mapped = renamed.map(([from, to]) => `input ${from} as argument ${to}`);
  const parts = [
    `its tool ${plainLine(binding.toolName, 100)}`,
    ...(mapped.length === 0 ? [] : [mapped.join(", ")]),
    ...(binding.resultExtract === "$" ? [] : [`output from ${binding.resultExtract}`]),
  ];
  return `${driver.id}@${driver.version}: ${parts.join("; ")}`;
}

/** Explains why the first driver ranks before the second. */
export function whyFirst(
  contract: Contract,
  { phases }: Resolution,
  { drivers }: ContractsEndpoint,
): string | undefined {
  const order = phases.find(({ phase }) => phase === "rank")?.kept ?? [];
  if (order.length === 1) return `${order[0]} is the only remaining driver`;
  const [first, second] = order.map((id) => drivers.find(({ driver }) => driver.id === id)?.driver);
  if (first === undefined || second === undefined) return undefined;
  const before = `${first.id} before ${second.id}:`;
  if (contract.defaultImplementation === first.id)
    return `${before} ${first.id} is the default_implementation of the contract`;
  const [a, b] = [costOf(first, contract), costOf(second, contract)];
  if (a.unitsPerCall !== b.unitsPerCall)
    return `${before} ${first.id} costs ${priceLabel(a)}, ${second.id} costs ${priceLabel(b)}`;
  const [classA, classB] = [a, b].map(({ costClass }) => costClass ?? contract.costClass);
  if (a.unitsPerCall === undefined && classA !== classB)
    return `${before} the cost class of ${first.id} is ${classA}, that of ${second.id} is ${classB}`;
  return `${before} both cost the same. The driver with the latest successful health check is first. If the times are equal, the order is alphabetical`;
}

function costOf(driver: Driver, contract: Contract): CostOverride {
  const own = driver.implements.find(({ tool }) => serves(tool, contract))?.cost;
  return {
    costClass: own?.costClass ?? driver.cost?.costClass,
    unitsPerCall: own?.unitsPerCall ?? driver.cost?.unitsPerCall,
  };
}

function priceLabel({ unitsPerCall, costClass }: CostOverride): string {
  return unitsPerCall === undefined
    ? `an unknown price${costClass === undefined ? "" : ` (${costClass})`}`
    : `${unitsPerCall} units a call`;
}

function serves(tool: string, { id, origin }: Contract): boolean {
  if (tool === id) return true;
  const path = tool.replace(/^(?:\.\.?\/)+/, "").replace(/\/TOOL\.md$/, "");
  return origin.file
    .replaceAll("\\", "/")
    .replace(/\/TOOL\.md$/, "")
    .endsWith(`/${path}`);
}
