// The official conformance suite as a program: where it is, what it requires, and how it is run.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { installOnce, root } from "./install-once.mjs";
import { findNode24 } from "./node24.mjs";

const PACKAGE = { "@modelcontextprotocol/conformance": "0.2.0-alpha.12" };

/** The revisions, each with the suite's frozen list of what it requires. */
export const SETS = ["2025-11-25", "2026-07-28"];

export const results = join(root, ".cache", "conformance-results");

let place;
function findSuite() {
  place ??= {
    node: findNode24(),
    folder: join(
      installOnce("conformance", PACKAGE, { anyNode: true }),
      "@modelcontextprotocol",
      "conformance",
    ),
  };
  return place;
}

/** Runs the suite and returns what it printed. Its exit code is not used: it knows nothing of our lists. */
export function runSuite(args) {
  const { node, folder } = findSuite();
  return new Promise((resolve, reject) => {
    const child = spawn(node, [join(folder, "dist", "index.js"), ...args], {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 300_000,
    });
    let log = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (log += text));
    child.on("error", reject).on("close", () => resolve(log));
  });
}

/** How the suite is told what to run. */
export function selection(set, scenario) {
  // Scenarios of extensions belong to no revision.
  return scenario === undefined
    ? ["--requirements", set]
    : ["--scenario", scenario, "--spec-version", set, "--force"];
}

const requirementsFile = (set) => join(findSuite().folder, "requirements", `${set}.yaml`);

/** The scored scenarios of a set; `leg` is "client" or "server". */
export function readRequired(set, leg) {
  return new Set(readYamlList(requirementsFile(set), leg));
}

/** All scenarios that the suite runs for a set, scored or not. */
export function readAll(set, leg) {
  const all = readRequired(set, leg);
  const text = readFileSync(requirementsFile(set), "utf8");
  for (const [, scenario, itsLeg] of text.matchAll(/- scenario: (\S+)\s+leg: (\S+)/g)) {
    if (itsLeg === leg) all.add(scenario);
  }
  return all;
}

// The files are top-level keys with lists of plain words; that is all of YAML that is needed here.
function readYamlList(file, key) {
  const found = [];
  let inside = false;
  for (const line of readFileSync(file, "utf8").split("\n")) {
    if (/^\S/.test(line) && !line.startsWith("#")) inside = line.startsWith(`${key}:`);
    else if (inside) found.push(...(/^\s+-\s+([^\s#]+)/.exec(line)?.slice(1) ?? []));
  }
  return found;
}

/** The name of a scenario from the folder `<scenario>-<time>` that the suite wrote; a name may hold a slash. */
export function scenarioOf(folder) {
  return folder.replaceAll("\\", "/").replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, "");
}

export function readChecks(file) {
  const checks = JSON.parse(readFileSync(file, "utf8"));
  const count = (status) => checks.filter((check) => check.status === status).length;
  const reasons = (status) =>
    checks.filter((check) => check.status === status).map((check) => check.errorMessage ?? check.description);
  return {
    checks,
    passed: count("SUCCESS"),
    failed: count("FAILURE"),
    warnings: count("WARNING"),
    reasons: reasons("FAILURE"),
    warned: reasons("WARNING"),
  };
}
