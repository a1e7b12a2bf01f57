// Runs the official MCP conformance suite against test/conformance/client.mjs, at both protocol revisions.
//
//   node scripts/conformance.mjs [--set 2026-07-28] [--scenario tools_call]
//
// Exit code 1: a required scenario failed that test/conformance/expected-failures.yaml does not list, or an entry there now passes.
// Failing authorization and optional scenarios are always printed.

import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { installOnce, root } from "./lib/install-once.mjs";
import { findNode24 } from "./lib/node24.mjs";

const SUITE = { "@modelcontextprotocol/conformance": "0.2.0-alpha.12" };
const SETS = ["2025-11-25", "2026-07-28"];

const { values: options } = parseArgs({ options: { set: { type: "string" }, scenario: { type: "string" } } });
if (options.set !== undefined && !SETS.includes(options.set)) {
  console.error(`Unknown set "${options.set}". There are ${SETS.join(" and ")}.`);
  process.exit(2);
}

const node = findNode24();
const suite = join(
  installOnce("conformance", SUITE, { anyNode: true }),
  "@modelcontextprotocol",
  "conformance",
);
const expected = readExpectedFailures();
const broken = [];
for (const set of options.set === undefined ? SETS : [options.set]) broken.push(...(await runSet(set)));
broken.push(...checkExpectedFailures());

if (broken.length > 0) {
  console.log("\nConformance: failed");
  for (const line of broken) console.log(`  ${line}`);
  process.exitCode = 1;
} else {
  console.log(
    "\nConformance: every required scenario passes, apart from the expected failures listed above.",
  );
}

/** Runs one requirement set, prints its table, and returns what is wrong. */
async function runSet(set) {
  console.log(`\n== MCP ${set}, client ==\n`);
  const required = readRequired(set);
  let results = await runSuite(set, options.scenario);
  if (results.length === 0) return [`${set}: no scenario ran`];
  results = await runAgainAlone(set, required, results);
  printTable(results, required);

  const failing = results.filter((result) => !result.ok);
  const wrong = failing.filter(({ scenario }) => required.has(scenario) && !expected.has(scenario));
  const missing =
    options.scenario === undefined
      ? [...required].filter((name) => !results.some(({ scenario }) => scenario === name))
      : [];
  const stale = results.filter(({ scenario, ok }) => ok && expected.has(scenario));

  printList(
    "Authorization scenarios that fail (expected)",
    failing.filter(({ scenario }) => expected.has(scenario)),
  );
  printList(
    "Optional scenarios that fail (not required by the revision)",
    failing.filter(({ scenario }) => !required.has(scenario)),
  );
  printList("Required scenarios that fail", wrong);
  return [
    ...wrong.map(({ scenario }) => `${set} ${scenario}: fails; see ${where(scenario)}`),
    ...missing.map((name) => `${set} ${name}: did not run`),
    ...stale.map(({ scenario }) => `${set} ${scenario}: passes now; take it out of expected-failures.yaml`),
  ];

  function where(scenario) {
    return relative(root, results.find((result) => result.scenario === scenario).folder);
  }
}

// The suite runs all scenarios at once and some of them measure time: on a small machine the crowd alone can make them fail.
async function runAgainAlone(set, required, results) {
  const again = [];
  for (const result of results) {
    const retry =
      !result.ok &&
      options.scenario === undefined &&
      required.has(result.scenario) &&
      !expected.has(result.scenario);
    again.push(retry ? ((await runSuite(set, result.scenario))[0] ?? result) : result);
  }
  return again;
}

async function runSuite(set, scenario) {
  const output = join(
    root,
    ".cache",
    "conformance-results",
    scenario === undefined ? set : join(set, "alone", scenario),
  );
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  const command = [process.execPath, join(root, "test", "conformance", "client.mjs")]
    .map((path) => `"${path}"`)
    .join(" ");
  const selection =
    scenario === undefined ? ["--requirements", set] : ["--scenario", scenario, "--spec-version", set];
  const args = [
    join(suite, "dist", "index.js"),
    "client",
    "--command",
    command,
    ...selection,
    "--output-dir",
    output,
  ];
  const log = await run(args);
  const results = readResults(output);
  if (results.length === 0) console.log(log.trim());
  return results;
}

// The exit code is not used: it ignores clients that crash or hang, and knows nothing of our list.
function run(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], timeout: 300_000 });
    let log = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (log += text));
    child.on("error", reject).on("close", () => resolve(log));
  });
}

/** One result for each folder `<scenario>-<time>` that the suite wrote; a scenario's name may hold a slash. */
function readResults(output) {
  return readdirSync(output, { recursive: true })
    .filter((path) => basename(path) === "checks.json" && !path.startsWith("alone"))
    .map((path) => {
      const folder = dirname(join(output, path));
      const checks = JSON.parse(readFileSync(join(output, path), "utf8"));
      const count = (status) => checks.filter((check) => check.status === status).length;
      const finished = readFileSync(join(folder, "stdout.txt"), "utf8").includes("client finished");
      const result = {
        scenario: dirname(path)
          .replaceAll("\\", "/")
          .replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, ""),
        passed: count("SUCCESS"),
        failed: count("FAILURE"),
        warnings: count("WARNING"),
        finished,
        folder,
        reasons: checks
          .filter((check) => check.status === "FAILURE")
          .map((check) => check.errorMessage ?? check.description),
      };
      return { ...result, ok: result.failed === 0 && (finished || isAboutRefusing(result.scenario)) };
    })
    .sort((a, b) => a.scenario.localeCompare(b.scenario));
}

// In these the right behaviour is to give up, so the program ends with an error.
function isAboutRefusing(scenario) {
  return /^auth\/(resource-mismatch|iss-|metadata-issuer-mismatch|scope-retry-limit)/.test(scenario);
}

function printTable(results, required) {
  const width = Math.max(...results.map(({ scenario }) => scenario.length), "scenario".length);
  console.log(`${"scenario".padEnd(width)}  passed  failed  warnings`);
  for (const { scenario, passed, failed, warnings, finished } of results) {
    const notes = [required.has(scenario) ? "" : "optional", finished ? "" : "program ended with an error"]
      .filter(Boolean)
      .join(", ");
    const numbers = [passed, failed, warnings]
      .map((value, i) => String(value).padStart([6, 6, 8][i]))
      .join("  ");
    console.log(`${scenario.padEnd(width)}  ${numbers}${notes && `  (${notes})`}`);
  }
  const ok = results.filter((result) => result.ok && required.has(result.scenario)).length;
  console.log(
    `\n${ok} of ${results.filter(({ scenario }) => required.has(scenario)).length} required scenarios pass.`,
  );
}

function printList(heading, results) {
  if (results.length === 0) return;
  console.log(`\n${heading}:`);
  for (const { scenario, reasons } of results)
    console.log(`  ${scenario}: ${reasons[0] ?? "the program ended with an error"}`);
}

/** The scored client scenarios of a set: `client:` in the suite's own requirements file, a list of plain names. */
function readRequired(set) {
  return new Set(readYamlList(join(suite, "requirements", `${set}.yaml`), "client"));
}

/** Our list, in the form that the suite's own --expected-failures takes. */
function readExpectedFailures() {
  return new Set(readYamlList(join(root, "test", "conformance", "expected-failures.yaml"), "client"));
}

/** Only authorization may be behind, and only where a revision asks for it. */
function checkExpectedFailures() {
  const required = new Set(SETS.flatMap((set) => [...readRequired(set)]));
  return [...expected]
    .filter((name) => !name.startsWith("auth/") || !required.has(name))
    .map((name) => `${name}: does not belong into expected-failures.yaml`);
}

// Both files are top-level keys with lists of plain words; that is all of YAML that is needed here.
function readYamlList(file, key) {
  const found = [];
  let inside = false;
  for (const line of readFileSync(file, "utf8").split("\n")) {
    if (/^\S/.test(line) && !line.startsWith("#")) inside = line.startsWith(`${key}:`);
    else if (inside) found.push(...(/^\s+-\s+([^\s#]+)/.exec(line)?.slice(1) ?? []));
  }
  return found;
}
