// Differences between two versions of a driver, and the version step that each needs.

import { parseVersion, satisfies } from "../../base/text/versions.ts";
import { type Driver, type DriverServer, toCommandLine } from "../../model/index.ts";
import { Changes, type Difference, same, type Step } from "./changes.ts";

/** Compares two versions of a driver: the changes, and the version step that they need. */
export function diffDrivers(before: Driver, after: Driver): Difference {
  const changes = new Changes();
  changes.compare("id", before.id, after.id, "major", "another id means another driver");
  changes.compare(
    "transport",
    before.transport,
    after.transport,
    "major",
    "the connection to the server is different",
  );
  changes.compare(
    "protocol_version",
    before.protocolVersion,
    after.protocolVersion,
    "major",
    "another protocol revision can mean other responses",
  );
  const now = serverOf(after, before);
  const source = serverStep(before.server, now);
  if (source !== undefined) changes.add("server", source, "the server has another source or version");
  else
    changes.compare(
      "server",
      withoutSource(before.server),
      withoutSource(now),
      "minor",
      "the server is started with other arguments or settings",
    );
  diffBindings(before, after, changes);
  diffSurfaces("prompts", before.prompts, after.prompts, ({ name }) => name, changes);
  diffSurfaces("resources", before.resources, after.resources, ({ uriTemplate }) => uriTemplate, changes);
  changes.compare("auth", before.auth, after.auth, "minor", "the login is different");
  changes.compare(
    "sandbox",
    before.launch.sandbox,
    after.launch.sandbox,
    "minor",
    "the server has other rights",
  );
  changes.compare("region", before.region, after.region, "minor", "calls can go to another region");
  changes.compare(
    "policy_tags",
    before.policyTags,
    after.policyTags,
    "minor",
    "policies can select other drivers",
  );
  diffVersionCheck(before, after, changes);
  changes.compare(
    "install",
    before.launch.install,
    after.launch.install,
    "minor",
    "the installation is different",
  );
  changes.compare(
    "requires",
    before.launch.requires,
    after.launch.requires,
    "minor",
    "the server runs on other machines",
  );
  changes.comparePatchFields(before, after, [
    "name",
    "description",
    "cost",
    "timeoutMs",
    "retry",
    "connection",
    "healthCheck",
    "tags",
    "metadata",
  ]);
  return changes.conclude();
}

function diffBindings(before: Driver, after: Driver, changes: Changes): void {
  const old = new Map(before.implements.map((binding) => [contractNamed(binding.tool), binding]));
  const now = new Map(after.implements.map((binding) => [contractNamed(binding.tool), binding]));
  for (const tool of old.keys())
    if (!now.has(tool)) changes.add(`implements ${tool}`, "major", "a contract is not served any more");
  for (const [tool, binding] of now) {
    const earlier = old.get(tool);
    if (earlier === undefined) {
      changes.add(`implements ${tool}`, "minor", "one more contract is served");
      continue;
    }
    const what = `implements ${tool}`;
    const narrowing = (one: typeof binding): unknown => [
      one.dropInputs.toSorted(),
      one.dropOutputs.toSorted(),
    ];
    if (!same(narrowing(earlier), narrowing(binding)))
      changes.add(`${what}: schema_narrowing`, "major", "other inputs or outputs are dropped");
    if (lacksMajor(earlier.range, binding.range))
      changes.add(`${what}: version`, "major", "a major version of the contract is not served any more");
    else if (earlier.range !== binding.range)
      changes.add(`${what}: version`, "minor", "other versions of the contract are served");
    const { origin: _a, tool: _b, range: _c, dropInputs: _d, dropOutputs: _e, ...rest } = binding;
    const { origin: _f, tool: _g, range: _h, dropInputs: _i, dropOutputs: _j, ...rested } = earlier;
    if (!same(rest, rested)) changes.add(what, "patch", "the same contract is served differently");
  }
}

function diffSurfaces<T>(
  what: string,
  before: readonly T[],
  after: readonly T[],
  nameOf: (thing: T) => string,
  changes: Changes,
): void {
  const [old, now] = [before, after].map((things) => new Map(things.map((thing) => [nameOf(thing), thing])));
  for (const name of old?.keys() ?? [])
    if (now?.has(name) !== true) changes.add(`${what} ${name}`, "major", "it is not offered any more");
  for (const [name, thing] of now ?? []) {
    const earlier = old?.get(name);
    if (earlier === undefined) changes.add(`${what} ${name}`, "minor", "it is new");
    else if (!same(earlier, thing)) changes.add(`${what} ${name}`, "major", "its definition is different");
  }
}

function diffVersionCheck(before: Driver, after: Driver, changes: Changes): void {
  const [old, now] = [before.launch.versionCheck, after.launch.versionCheck];
  if (same(old, now)) return;
  const wider = old !== undefined && lacksMajor(now?.range ?? "", old.range);
  if (wider) changes.add("version_check.range", "major", "another major version of the program is accepted");
  else changes.add("version_check", "patch", "the check of the program's version is different");
}

/** True when one range contains a major version that the other does not. */
function lacksMajor(range: string, other: string): boolean {
  const majors = range.matchAll(/(?<![\w.])v?(\d{1,9})(?=[.\sxX*|]|$)/g);
  return Array.from(majors, ([, major = ""]) => major)
    .filter((major) => satisfies(`${major}.0.0`, range) || satisfies(`${major}.99999.0`, range))
    .some((major) => !satisfies(`${major}.0.0`, other) && !satisfies(`${major}.99999.0`, other));
}

/** A contract is named by its id, or by its file, whose folder has the id as its name. */
function contractNamed(tool: string): string {
  return tool.replace(/\/TOOL\.md$/, "").replace(/^.*\//, "");
}

/** The path of one program may be relative to the workspace or to the driver's folder. */
function serverOf({ server, endpoint }: Driver, before: Driver): DriverServer {
  if (server.kind !== "binary" || before.server.kind !== "binary") return server;
  if (endpoint.transport !== "stdio" || before.endpoint.transport !== "stdio") return server;
  const command = toCommandLine(endpoint).command;
  return command === toCommandLine(before.endpoint).command
    ? { ...server, path: before.server.path }
    : server;
}

/** The step for another source of the server; undefined when it is the same. */
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
