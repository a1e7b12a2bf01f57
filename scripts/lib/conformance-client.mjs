// The client half of the suite: its servers against test/conformance/client.mjs. No required scenario may fail.

import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import {
  readChecks,
  readRequired,
  results as resultsFolder,
  runSuite,
  scenarioOf,
  selection,
} from "./conformance-suite.mjs";
import { root } from "./install-once.mjs";

/** Runs the sets, prints their tables, and returns what is wrong. */
export async function runClient(sets, only) {
  const broken = [];
  for (const set of sets) broken.push(...(await runSet(set, only)));
  return broken;
}

async function runSet(set, only) {
  console.log(`\n== MCP ${set}, client ==\n`);
  const required = readRequired(set, "client");
  let results = await runScenarios(set, only);
  if (results.length === 0) return [`${set}: no scenario ran`];
  if (only === undefined) results = await runAgainAlone(set, required, results);
  printTable(results, required);

  const failing = results.filter((result) => !result.ok);
  const wrong = failing.filter(({ scenario }) => required.has(scenario));
  const missing =
    only === undefined
      ? [...required].filter((name) => !results.some(({ scenario }) => scenario === name))
      : [];

  printList(
    "Optional scenarios that fail (not required by the revision)",
    failing.filter(({ scenario }) => !required.has(scenario)),
  );
  printList("Required scenarios that fail", wrong);
  return [
    ...wrong.map(({ scenario, folder }) => `${set} ${scenario}: fails; see ${relative(root, folder)}`),
    ...missing.map((name) => `${set} ${name}: did not run`),
  ];
}

// The suite runs all scenarios at once and some of them measure time: on a small machine the crowd alone can make them fail.
async function runAgainAlone(set, required, results) {
  const again = [];
  for (const result of results) {
    const retry = !result.ok && required.has(result.scenario);
    again.push(retry ? ((await runScenarios(set, result.scenario))[0] ?? result) : result);
  }
  return again;
}

async function runScenarios(set, scenario) {
  const output = join(resultsFolder, scenario === undefined ? set : join(set, "alone", scenario));
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  const command = [process.execPath, join(root, "test", "conformance", "client.mjs")]
    .map((path) => `"${path}"`)
    .join(" ");
  const log = await runSuite([
    "client",
    "--command",
    command,
    ...selection(set, scenario),
    "--output-dir",
    output,
  ]);
  const results = readResults(output);
  if (results.length === 0) console.log(log.trim());
  return results;
}

function readResults(output) {
  return readdirSync(output, { recursive: true })
    .filter((path) => basename(path) === "checks.json" && !path.startsWith("alone"))
    .map((path) => {
      const folder = dirname(join(output, path));
      // The suite itself overlooks clients that crash or hang.
      const finished = readFileSync(join(folder, "stdout.txt"), "utf8").includes("client finished");
      const result = {
        scenario: scenarioOf(dirname(path)),
        finished,
        folder,
        ...readChecks(join(output, path)),
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
