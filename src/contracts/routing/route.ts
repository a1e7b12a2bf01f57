// Decides the route: which driver serves a call. Six phases, each a pure step that keeps drivers or rejects them with a reason.

import { parseVersion, satisfies } from "../../base/text/versions.ts";
import type { Contract, CostClass, CostOverride, DriverErrorCode, DriverKind } from "../../model/index.ts";
import { STILL_STARTING } from "../verification/verification.ts";
import { obstacleOf, tierOf, type DriverStatus } from "./tier.ts";
import { regionDenial, tagDenial, type ContractPolicy } from "./policy.ts";

/** A driver as routing reads it, of any kind. */
export interface Candidate {
  readonly id: string;
  readonly version: string;
  readonly kind: DriverKind;
  readonly region: readonly string[];
  readonly policyTags: readonly string[];
  readonly status: DriverStatus;
  readonly serves: readonly Service[];
}

/** How a driver serves one contract. */
export interface Service {
  readonly tool: string;
  readonly range: string;
  /** Version of the contract that it is bound to. */
  readonly version?: string;
  readonly dropInputs: readonly string[];
  readonly cost?: CostOverride;
  /** Why this caller may not use this driver, such as a secret without a grant. */
  readonly denied?: { readonly reason: string; readonly code: DriverErrorCode };
}

export interface RouteRequest {
  readonly contract: Contract;
  /** Names of the inputs that the caller gave. */
  readonly inputs: readonly string[];
  readonly pin?: string;
  readonly region?: string;
  /** Route for a login, which needs no login. */
  readonly loginOnly?: boolean;
  /** Drivers that get no calls: they were tried and failed, or are in `starting`. */
  readonly exclude?: readonly string[];
  /** Of these, drivers whose servers are still starting, while another driver is verified. */
  readonly starting?: readonly string[];
}

export interface RouteState {
  readonly drivers: readonly Candidate[];
  readonly policy: ContractPolicy;
}

export type PhaseName = "candidates" | "capability" | "policy" | "pin" | "rank" | "bind";

export interface Rejection {
  readonly driver: string;
  readonly reason: string;
  /** Error code of the call if there is no other driver. */
  readonly code: DriverErrorCode;
  /** For `input_unsupported`. */
  readonly fields?: readonly string[];
  /** The driver failed before, and should be verified again in the background. */
  readonly retryDue?: true;
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
  readonly fields?: readonly string[];
  /** Rejected drivers, the ones that came furthest first. */
  readonly nearest: readonly (Rejection & { readonly phase: PhaseName })[];
}

/** The routing of one call: the drivers that each phase removed, and the selected driver or the failure. */
export type Resolution = { readonly phases: readonly Phase[] } &
  /**
   * `verifyFirst`: another driver could serve too, and the selected one is not verified yet. `verified` is then the best
   * of the others that is verified.
   */
  (
    | {
        readonly selected: string;
        readonly verifyFirst?: true;
        readonly verified?: string;
        readonly error?: undefined;
      }
    | {
        readonly selected?: undefined;
        readonly verifyFirst?: undefined;
        readonly verified?: undefined;
        readonly error: RouteFailure;
      }
  );

interface Option {
  readonly driver: Candidate;
  readonly service: Service;
}

type RejectionReason = Omit<Rejection, "driver"> | undefined;

const KIND_ORDER: readonly DriverKind[] = ["builtin", "sdk", "http", "mcp", "cli"];
const COST_ORDER: readonly CostClass[] = ["trivial", "metered", "expensive"];

export function resolve(request: RouteRequest, state: RouteState): Resolution {
  const found = route(request, state, false);
  if (found.selected !== undefined) return found;
  // A driver that failed before is better than none.
  const hasLastResort = found.phases.some(({ rejected }) => rejected.some((one) => one.retryDue === true));
  return hasLastResort ? route(request, state, true) : found;
}

function route(request: RouteRequest, state: RouteState, lastResort: boolean): Resolution {
  const phases: Phase[] = [];
  const { contract, pin, loginOnly = false } = request;
  let options: readonly Option[] = state.drivers.flatMap((driver) => {
    const service = driver.serves.find(({ tool }) => tool === contract.id);
    return service === undefined ? [] : [{ driver, service }];
  });
  const filter = (phase: PhaseName, check: (one: Option) => RejectionReason): boolean => {
    const kept: Option[] = [];
    const rejected: Rejection[] = [];
    for (const one of options) {
      const rejection = check(one);
      if (rejection === undefined) kept.push(one);
      else rejected.push({ driver: one.driver.id, ...rejection });
    }
    options = kept;
    phases.push({ phase, kept: kept.map(({ driver }) => driver.id), rejected });
    return kept.length > 0;
  };
  const ok =
    filter("candidates", (one) => candidateRejection(one, request)) &&
    filter(
      "capability",
      ({ driver, service }) => obstacleOf(driver.status, { loginOnly, lastResort }) ?? service.denied,
    ) &&
    filter(
      "policy",
      ({ driver }) => tagDenial(driver, state.policy) ?? regionDenial(driver, request.region, state.policy),
    ) &&
    filter("pin", ({ driver }) => pinRejection(driver, pin));
  if (!ok) return { phases, error: failureOf(request, phases) };

  const ranked = [...options].sort((a, b) => rank(a, b, contract));
  const order = ranked.map(({ driver }) => driver.id);
  phases.push({ phase: "rank", kept: order, rejected: [] });
  const selected = order[0] as string;
  phases.push({ phase: "bind", kept: [selected], rejected: [] });
  const verified = ranked.find(({ driver }) => tierOf(driver.status) === "usable")?.driver.id;
  if (ranked.length === 1 || verified === selected) return { phases, selected };
  return { phases, selected, verifyFirst: true, ...(verified === undefined ? {} : { verified }) };
}

function candidateRejection({ driver, service }: Option, request: RouteRequest): RejectionReason {
  const { contract, inputs, exclude, starting } = request;
  const { forbid, requireKind } = contract.driverConstraints;
  if (exclude?.includes(driver.id) === true) {
    const isStarting = starting?.includes(driver.id) === true;
    return { reason: isStarting ? STILL_STARTING : "it was tried and failed", code: "no_route" };
  }
  if (!satisfies(contract.version, service.range))
    return {
      reason: `it serves the versions ${service.range}, but the contract has the version ${contract.version}`,
      code: "no_route",
    };
  // A range may contain several majors; a driver serves the one that it is bound to.
  if (service.version !== undefined && majorOf(service.version) !== majorOf(contract.version))
    return {
      reason: `it serves the version ${service.version}, but the contract has the version ${contract.version}`,
      code: "no_route",
    };
  if (forbid.includes(driver.kind))
    return { reason: `the contract forbids drivers of the kind ${driver.kind}`, code: "no_route" };
  if (requireKind.length > 0 && !requireKind.includes(driver.kind))
    return {
      reason: `the contract requires a driver of the kind ${requireKind.join(" or ")}`,
      code: "no_route",
    };
  const fields = service.dropInputs.filter((name) => inputs.includes(name));
  if (fields.length === 0) return undefined;
  return { reason: `it does not support the inputs ${fields.join(", ")}`, code: "input_unsupported", fields };
}

function majorOf(version: string): number | undefined {
  return parseVersion(version)?.major;
}

function pinRejection({ id }: Candidate, pin: string | undefined): RejectionReason {
  if (pin === undefined || pin === id) return undefined;
  return { reason: `the call is pinned to ${pin}`, code: "pinned_provider_unavailable" };
}

/** By the preference of the contract, then cost, kind, time of the last successful health check, and id. */
function rank(a: Option, b: Option, { defaultImplementation, costClass }: Contract): number {
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

/** A driver with a price comes before one with a cost class only. */
function compareCost(a: CostOverride | undefined, b: CostOverride | undefined, baseline: CostClass): number {
  const [left, right] = [a?.unitsPerCall, b?.unitsPerCall];
  if (left !== undefined && right !== undefined) return left - right;
  if (left !== undefined || right !== undefined) return left === undefined ? 1 : -1;
  return COST_ORDER.indexOf(a?.costClass ?? baseline) - COST_ORDER.indexOf(b?.costClass ?? baseline);
}

const MAX_NEAREST = 10;

/**
 * The error for a call without a route: one code, and the drivers that came nearest with their obstacles. The last
 * phase rejected all drivers that were left.
 */
function failureOf(request: RouteRequest, phases: readonly Phase[]): RouteFailure {
  const { contract, pin } = request;
  const nearest = phases
    .toReversed()
    .flatMap(({ phase, rejected }) => rejected.map((rejection) => ({ ...rejection, phase })));
  const last = phases.at(-1)?.rejected ?? [];
  const pinned = pin === undefined ? undefined : nearest.find(({ driver }) => driver === pin);
  const code = codeOf(last);
  const fields = [...new Set(last.flatMap((rejection) => rejection.fields ?? []))];
  return {
    code,
    message: messageOf(contract.id, code, last, pin, pinned),
    fields: code === "input_unsupported" ? fields : undefined,
    nearest: nearest.slice(0, MAX_NEAREST),
  };
}

/** The common code; otherwise a code that the caller can act on. */
function codeOf(rejected: readonly Rejection[]): DriverErrorCode {
  const codes = new Set(rejected.map(({ code }) => code));
  const [only] = codes;
  if (only !== undefined && codes.size === 1) return only;
  if (codes.has("auth_required")) return "auth_required";
  // That driver could serve the call with other inputs.
  return codes.has("input_unsupported") ? "input_unsupported" : "no_route";
}

function messageOf(
  contract: string,
  code: DriverErrorCode,
  last: readonly Rejection[],
  pin: string | undefined,
  pinned: Rejection | undefined,
): string {
  if (code === "pinned_provider_unavailable")
    return `The call of ${contract} is pinned to the driver ${pin ?? ""}, which cannot serve it: ${pinned?.reason ?? "no such driver serves this contract"}`;
  if (last.length === 0) return `No driver serves ${contract}.`;
  const shown = last.slice(0, 5).map(({ driver, reason }) => `${driver}: ${reason}`);
  const more = last.length > shown.length ? `; and ${last.length - shown.length} more` : "";
  return `No driver can serve this call of ${contract}. ${shown.join("; ")}${more}`;
}
