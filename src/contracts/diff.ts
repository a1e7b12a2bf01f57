// What changed between two versions of a driver or a contract, and how large a step of the version that needs.

import type { Diagnostic } from "../errors/index.ts";
import {
  type Contract,
  type Driver,
  type DriverServer,
  isObject,
  type JsonSchema,
  parseVersion,
} from "../model/index.ts";
import { compareSchemas, viewSchema } from "../schema/index.ts";

export type Step = "none" | "patch" | "minor" | "major";

export interface Change {
  readonly what: string;
  readonly needs: Step;
  readonly why: string;
}

export interface Difference {
  readonly needs: Step;
  readonly changes: readonly Change[];
}

const STEPS: readonly Step[] = ["none", "patch", "minor", "major"];

export function diffDrivers(before: Driver, after: Driver): Difference {
  const changes: Change[] = [];
  const add = (what: string, needs: Step, why: string): void => void changes.push({ what, needs, why });
  const compare = (what: string, a: unknown, b: unknown, needs: Step, why: string): void => {
    if (!same(a, b)) add(what, needs, why);
  };
  compare("id", before.id, after.id, "major", "a driver is known by its id");
  compare("transport", before.transport, after.transport, "major", "the server is reached in another way");
  compare(
    "protocol_version",
    before.protocolVersion,
    after.protocolVersion,
    "major",
    "another protocol may mean other answers",
  );
  const source = serverStep(before.server, after.server);
  if (source !== undefined) add("server", source, "the server comes from elsewhere, or in another version");
  else
    compare(
      "server",
      withoutSource(before.server),
      withoutSource(after.server),
      "minor",
      "the server is started with other words",
    );
  diffBindings(before, after, add);
  diffSurfaces("prompts", before.prompts, after.prompts, ({ name }) => name, add);
  diffSurfaces("resources", before.resources, after.resources, ({ uriTemplate }) => uriTemplate, add);
  compare("auth", before.auth, after.auth, "minor", "logging in works in another way");
  compare(
    "sandbox",
    before.launch.sandbox,
    after.launch.sandbox,
    "minor",
    "the server may touch other things",
  );
  compare("region", before.region, after.region, "minor", "calls may go elsewhere");
  compare("policy_tags", before.policyTags, after.policyTags, "minor", "policies may choose otherwise");
  diffVersionCheck(before, after, add);
  compare("install", before.launch.install, after.launch.install, "minor", "it is installed in another way");
  compare("requires", before.launch.requires, after.launch.requires, "minor", "it runs on other machines");
  for (const field of [
    "name",
    "description",
    "cost",
    "timeoutMs",
    "retry",
    "connection",
    "healthCheck",
    "tags",
    "metadata",
  ] as const)
    compare(field, before[field], after[field], "patch", "what it promises stays the same");
  return conclude(changes);
}

function diffBindings(
  before: Driver,
  after: Driver,
  add: (what: string, needs: Step, why: string) => void,
): void {
  const old = new Map(before.implements.map((binding) => [binding.tool, binding]));
  const now = new Map(after.implements.map((binding) => [binding.tool, binding]));
  for (const tool of old.keys())
    if (!now.has(tool)) add(`implements ${tool}`, "major", "a contract is not served any more");
  for (const [tool, binding] of now) {
    const earlier = old.get(tool);
    if (earlier === undefined) {
      add(`implements ${tool}`, "minor", "one more contract is served");
      continue;
    }
    const what = `implements ${tool}`;
    const narrowing = (one: typeof binding): unknown => [
      one.dropInputs.toSorted(),
      one.dropOutputs.toSorted(),
    ];
    if (!same(narrowing(earlier), narrowing(binding)))
      add(`${what}: schema_narrowing`, "major", "other inputs or outputs are left out");
    if (earlier.range !== binding.range)
      add(`${what}: version`, "minor", "other versions of the contract are served");
    const { origin: _a, range: _b, dropInputs: _c, dropOutputs: _d, ...rest } = binding;
    const { origin: _e, range: _f, dropInputs: _g, dropOutputs: _h, ...rested } = earlier;
    if (!same(rest, rested)) add(what, "patch", "the same contract is served in another way");
  }
}

function diffSurfaces<T>(
  what: string,
  before: readonly T[],
  after: readonly T[],
  nameOf: (thing: T) => string,
  add: (what: string, needs: Step, why: string) => void,
): void {
  const [old, now] = [before, after].map((things) => new Map(things.map((thing) => [nameOf(thing), thing])));
  for (const name of old?.keys() ?? [])
    if (now?.has(name) !== true) add(`${what} ${name}`, "major", "it is not offered any more");
  for (const [name, thing] of now ?? []) {
    const earlier = old?.get(name);
    if (earlier === undefined) add(`${what} ${name}`, "minor", "it is offered beside the others");
    else if (!same(earlier, thing)) add(`${what} ${name}`, "major", "it is offered in another way");
  }
}

function diffVersionCheck(
  before: Driver,
  after: Driver,
  add: (what: string, needs: Step, why: string) => void,
): void {
  const [old, now] = [before.launch.versionCheck, after.launch.versionCheck];
  if (same(old, now)) return;
  const majors = (range: string | undefined): Set<string> =>
    new Set(
      Array.from((range ?? "").matchAll(/(?<![\w.])v?(\d+)(?=[.\sxX*|]|$)/g), ([, major = ""]) => major),
    );
  const known = majors(old?.range);
  const wider = old !== undefined && [...majors(now?.range)].some((major) => !known.has(major));
  if (wider) add("version_check.range", "major", "another major version of the program is let in");
  else add("version_check", "patch", "the program's version is looked at in another way");
}

/** Where the server comes from: undefined when that is the same. */
function serverStep(before: DriverServer, after: DriverServer): Step | undefined {
  if (before.kind !== after.kind) return "major";
  const [old, now] = [sourceOf(before), sourceOf(after)];
  if (old === now) return undefined;
  const [[name, version], [newName, newVersion]] = [split(old, before.kind), split(now, after.kind)];
  if (name !== newName) return "major";
  const [a, b] = [parseVersion(complete(version)), parseVersion(complete(newVersion))];
  return a !== undefined && b !== undefined && a.major === b.major ? "patch" : "major";
}

function sourceOf(server: DriverServer): string {
  switch (server.kind) {
    case "binary":
      return server.path;
    case "npm":
      return server.package;
    case "docker":
      return server.image;
    case "remote":
      return server.url;
  }
}

/** `name@1.2.3`, `image:1.2` as name and version. */
function split(source: string, kind: DriverServer["kind"]): readonly [string, string] {
  const at = kind === "npm" ? source.indexOf("@", 1) : kind === "docker" ? source.lastIndexOf(":") : -1;
  if (at < 0 || source.slice(at).includes("/")) return [source, ""];
  return [source.slice(0, at), source.slice(at + 1)];
}

function complete(version: string): string {
  const [, numbers = ""] = /^[v^~=]*(\d+(?:\.\d+){0,2})/.exec(version) ?? [];
  if (numbers === "") return "";
  return [...numbers.split("."), "0", "0"].slice(0, 3).join(".");
}

function withoutSource(server: DriverServer): unknown {
  const { kind: _kind, ...rest } = server;
  return rest;
}

export function diffContracts(before: Contract, after: Contract): Difference {
  const changes: Change[] = [];
  const add = (what: string, needs: Step, why: string): void => void changes.push({ what, needs, why });
  const compare = (what: string, a: unknown, b: unknown, needs: Step, why: string): void => {
    if (!same(a, b)) add(what, needs, why);
  };
  compare("id", before.id, after.id, "major", "a contract is known by its id");
  diffSchemas("inputs", before.inputs, after.inputs, "inputs that were right are refused", add);
  diffSchemas("outputs", before.outputs, after.outputs, "outputs that were right are refused", add);
  const lost = mismatches(after.outputs, before.outputs, "some");
  if (lost !== undefined) add("outputs", "major", `callers do not get what they got: ${lost}`);
  if (before.idempotent && !after.idempotent)
    add("idempotent", "major", "callers that call again would do it twice");
  else compare("idempotent", before.idempotent, after.idempotent, "minor", "it may be called again now");
  const more = after.mutates.filter((what) => !before.mutates.includes(what));
  if (more.length > 0) add("mutates", "major", `it changes more: ${more.join(", ")}`);
  else compare("mutates", before.mutates, after.mutates, "minor", "it changes less");
  compare(
    "contextSchema",
    before.contextSchema,
    after.contextSchema,
    "major",
    "callers must tell other things",
  );
  compare("approval", before.approval, after.approval, "minor", "it is approved in another way");
  compare("requires", before.requires, after.requires, "minor", "it needs other things");
  compare(
    "driver_constraints",
    before.driverConstraints,
    after.driverConstraints,
    "minor",
    "other drivers may serve it",
  );
  compare("timeout_ms", before.timeoutMs, after.timeoutMs, "minor", "it has another time limit");
  for (const field of [
    "name",
    "description",
    "riskLevel",
    "costClass",
    "retry",
    "defaultImplementation",
    "tags",
    "examples",
    "metadata",
  ] as const)
    compare(field, before[field], after[field], "patch", "what it promises stays the same");
  return conclude(changes);
}

function diffSchemas(
  what: string,
  before: JsonSchema,
  after: JsonSchema,
  why: string,
  add: (what: string, needs: Step, why: string) => void,
): void {
  const narrower = mismatches(before, after, "all");
  if (narrower !== undefined) add(what, "major", `${why}: ${narrower}`);
  else if (!same(bare(before), bare(after))) add(what, "minor", "what was right stays right");
  else if (!same(before, after)) add(what, "patch", "only its words are others");
}

function mismatches(given: JsonSchema, taken: JsonSchema, demand: "all" | "some"): string | undefined {
  const [from, to] = [viewSchema(given), viewSchema(taken)];
  if (from === undefined || to === undefined) return undefined;
  const [first] = compareSchemas(from, to, demand);
  return first === undefined ? undefined : [...first.path, first.message].join(": ");
}

/** Without what only readers see. */
function bare(value: unknown, inMap = false): unknown {
  if (Array.isArray(value)) return value.map((item) => bare(item));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => inMap || !["title", "description", "examples", "$comment"].includes(key))
      .map(([key, item]) => [key, bare(item, key === "properties" || key === "$defs")]),
  );
}

/** Whether the step of the version is as large as the change; a breaking change under the same major version is an error. */
export function checkBump(before: Driver, after: Driver): readonly Diagnostic[];
export function checkBump(before: Contract, after: Contract): readonly Diagnostic[];
export function checkBump(before: Driver | Contract, after: Driver | Contract): readonly Diagnostic[] {
  const { needs, changes } =
    "implements" in before && "implements" in after
      ? diffDrivers(before, after)
      : diffContracts(before as Contract, after as Contract);
  const took = stepBetween(before.version, after.version);
  // Going back to an earlier version is for its own author to judge.
  if (took === undefined || STEPS.indexOf(took) >= STEPS.indexOf(needs)) return [];
  const causes = changes
    .filter((change) => change.needs === needs)
    .map(({ what, why }) => `${what} (${why})`);
  return [
    {
      code: "DECLARATION_INVALID",
      severity: needs === "major" ? "error" : "warning",
      server: after.id,
      file: after.origin.file,
      message: `${after.id} ${after.version}: since ${before.version}, ${causes.join("; ")}`,
      hint: `This is a ${needs} change: raise the version to ${raised(before.version, needs)}.`,
    },
  ];
}

function stepBetween(before: string, after: string): Step | undefined {
  const [a, b] = [parseVersion(before), parseVersion(after)];
  if (a === undefined || b === undefined) return undefined;
  if (b.major !== a.major) return b.major > a.major ? "major" : undefined;
  // Before 1.0.0 the second number is the one that breaks.
  if (b.minor !== a.minor) return b.minor < a.minor ? undefined : a.major === 0 ? "major" : "minor";
  if (b.patch !== a.patch) return b.patch < a.patch ? undefined : a.major === 0 ? "minor" : "patch";
  return "none";
}

function raised(version: string, needs: Step): string {
  const { major, minor, patch } = parseVersion(version) ?? { major: 0, minor: 0, patch: 0 };
  const level = major === 0 && needs !== "patch" ? (needs === "major" ? "minor" : "patch") : needs;
  if (level === "major") return `${major + 1}.0.0`;
  return level === "minor" ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
}

function conclude(changes: readonly Change[]): Difference {
  const needs = changes.reduce<Step>(
    (most, change) => (STEPS.indexOf(change.needs) > STEPS.indexOf(most) ? change.needs : most),
    "none",
  );
  return { needs, changes };
}

function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

/** The order of keys says nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .filter((key) => value[key] !== undefined)
      .map((key) => [key, sorted(value[key])]),
  );
}
