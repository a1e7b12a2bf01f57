// Which driver serves a call: six phases, each a pure step that says whom it kept, whom it turned away, and why.

import {
  type Contract,
  type CostClass,
  type CostOverride,
  type DriverErrorCode,
  type DriverKind,
  parseVersion,
  satisfies,
} from "../../model/index.ts";
import { capabilityOf, type DriverStatus } from "./capability.ts";
import { failureOf } from "./no-route.ts";
import { type ContractPolicy, policyOf, regionOf } from "./policy.ts";

/** A driver as routing sees it, of whatever kind. */
export interface Candidate {
  readonly id: string;
  readonly version: string;
  readonly kind: DriverKind;
  readonly region: readonly string[];
  readonly policyTags: readonly string[];
  readonly status: DriverStatus;
  readonly serves: readonly Service[];
}

/** What a driver says about one contract. */
export interface Service {
  readonly tool: string;
  readonly range: string;
  /** Of the contract that it was made ready for, where it was. */
  readonly version?: string | undefined;
  readonly dropInputs: readonly string[];
  readonly cost?: CostOverride | undefined;
  /** Why this caller may not have it from this driver, whatever its server is. */
  readonly denied?: { readonly reason: string; readonly code: DriverErrorCode } | undefined;
}

export interface RouteRequest {
  readonly contract: Contract;
  /** Names of the inputs that the caller gave. */
  readonly inputs: readonly string[];
  readonly pin?: string | undefined;
  readonly region?: string | undefined;
  /** Only to log in, for which nobody needs to be logged in. */
  readonly loginOnly?: boolean | undefined;
  /** Drivers that were tried and failed. */
  readonly exclude?: readonly string[] | undefined;
}

export interface RouteState {
  readonly drivers: readonly Candidate[];
  readonly policy: ContractPolicy;
}

export type PhaseName = "candidates" | "capability" | "policy" | "pin" | "rank" | "bind";

export interface Rejection {
  readonly driver: string;
  readonly reason: string;
  /** What the call would fail with if there were no other driver. */
  readonly code: DriverErrorCode;
  /** For `input_unsupported`. */
  readonly fields?: readonly string[] | undefined;
  /** It failed before, and may be well by now: somebody should look. */
  readonly again?: true | undefined;
}

export interface Phase {
  readonly phase: PhaseName;
  /** Ids; after `rank`, the best first. */
  readonly kept: readonly string[];
  readonly rejected: readonly Rejection[];
}

export interface RouteFailure {
  readonly code: DriverErrorCode;
  readonly message: string;
  readonly fields?: readonly string[] | undefined;
  /** Those that came furthest first. */
  readonly nearest: readonly (Rejection & { readonly phase: PhaseName })[];
}

export type Resolution = { readonly phases: readonly Phase[] } &
  /** `unsure`: another one could serve it too, and nobody has looked at this one yet. */
  (
    | { readonly selected: string; readonly unsure?: true | undefined; readonly error?: undefined }
    | { readonly selected?: undefined; readonly unsure?: undefined; readonly error: RouteFailure }
  );

interface Running {
  readonly driver: Candidate;
  readonly service: Service;
}

type Verdict = Omit<Rejection, "driver"> | undefined;

const KIND_ORDER: readonly DriverKind[] = ["builtin", "sdk", "http", "mcp", "cli"];
const COST_ORDER: readonly CostClass[] = ["trivial", "metered", "expensive"];

export function resolve(request: RouteRequest, state: RouteState): Resolution {
  const found = route(request, state, false);
  if (found.selected !== undefined) return found;
  // One that failed before is better than nobody.
  const failed = found.phases.some(({ rejected }) => rejected.some(({ again }) => again === true));
  return failed ? route(request, state, true) : found;
}

function route(request: RouteRequest, state: RouteState, lastResort: boolean): Resolution {
  const phases: Phase[] = [];
  const { contract, pin } = request;
  let running: readonly Running[] = state.drivers.flatMap((driver) => {
    const service = driver.serves.find(({ tool }) => tool === contract.id);
    return service === undefined ? [] : [{ driver, service }];
  });
  const filter = (phase: PhaseName, judge: (one: Running) => Verdict): boolean => {
    const kept: Running[] = [];
    const rejected: Rejection[] = [];
    for (const one of running) {
      const verdict = judge(one);
      if (verdict === undefined) kept.push(one);
      else rejected.push({ driver: one.driver.id, ...verdict });
    }
    running = kept;
    phases.push({ phase, kept: kept.map(({ driver }) => driver.id), rejected });
    return kept.length > 0;
  };
  const ok =
    filter("candidates", (one) => candidateVerdict(one, request)) &&
    filter(
      "capability",
      ({ driver, service }) =>
        capabilityOf(driver.status, request.loginOnly === true, lastResort) ?? service.denied,
    ) &&
    filter(
      "policy",
      ({ driver }) => policyOf(driver, state.policy) ?? regionOf(driver, request.region, state.policy),
    ) &&
    filter("pin", ({ driver }) => pinVerdict(driver, pin));
  if (!ok) return { phases, error: failureOf(request, phases) };

  const ranked = [...running].sort((a, b) => rank(a, b, contract));
  const order = ranked.map(({ driver }) => driver.id);
  phases.push({ phase: "rank", kept: order, rejected: [] });
  const selected = order[0] as string;
  phases.push({ phase: "bind", kept: [selected], rejected: [] });
  const unsure = ranked.length > 1 && ranked[0]?.driver.status.unsure === true;
  return { phases, selected, ...(unsure ? { unsure } : {}) };
}

function candidateVerdict({ driver, service }: Running, request: RouteRequest): Verdict {
  const { contract, inputs, exclude } = request;
  const { forbid, requireKind } = contract.driverConstraints;
  if (exclude?.includes(driver.id) === true) return { reason: "it was tried and failed", code: "no_route" };
  if (!satisfies(contract.version, service.range))
    return {
      reason: `it serves ${service.range}, and the contract is ${contract.version}`,
      code: "no_route",
    };
  // A range may have several majors; a driver serves the one that it was made ready for.
  if (service.version !== undefined && majorOf(service.version) !== majorOf(contract.version))
    return {
      reason: `it serves ${service.version}, and the contract is ${contract.version}`,
      code: "no_route",
    };
  if (forbid.includes(driver.kind))
    return { reason: `the contract forbids drivers of the kind ${driver.kind}`, code: "no_route" };
  if (requireKind.length > 0 && !requireKind.includes(driver.kind))
    return {
      reason: `the contract wants a driver of the kind ${requireKind.join(" or ")}`,
      code: "no_route",
    };
  const fields = service.dropInputs.filter((name) => inputs.includes(name));
  if (fields.length === 0) return undefined;
  return { reason: `it does not take ${fields.join(", ")}`, code: "input_unsupported", fields };
}

function majorOf(version: string): number | undefined {
  return parseVersion(version)?.major;
}

function pinVerdict({ id }: Candidate, pin: string | undefined): Verdict {
  if (pin === undefined || pin === id) return undefined;
  return { reason: `the call is pinned to ${pin}`, code: "pinned_provider_unavailable" };
}

/** What the contract prefers, what it costs, of which kind it is, who was seen healthy last, and then the alphabet. */
function rank(a: Running, b: Running, { defaultImplementation, costClass }: Contract): number {
  const preferred =
    Number(b.driver.id === defaultImplementation) - Number(a.driver.id === defaultImplementation);
  if (preferred !== 0) return preferred;
  return (
    compareCost(a.service.cost, b.service.cost, costClass) ||
    KIND_ORDER.indexOf(a.driver.kind) - KIND_ORDER.indexOf(b.driver.kind) ||
    (b.driver.status.healthyAt ?? 0) - (a.driver.status.healthyAt ?? 0) ||
    (a.driver.id < b.driver.id ? -1 : a.driver.id > b.driver.id ? 1 : 0)
  );
}

/** A price comes before a class: who tells what it costs is known to cost no more. */
function compareCost(a: CostOverride | undefined, b: CostOverride | undefined, baseline: CostClass): number {
  const [left, right] = [a?.unitsPerCall, b?.unitsPerCall];
  if (left !== undefined && right !== undefined) return left - right;
  if (left !== undefined || right !== undefined) return left === undefined ? 1 : -1;
  return COST_ORDER.indexOf(a?.costClass ?? baseline) - COST_ORDER.indexOf(b?.costClass ?? baseline);
}
