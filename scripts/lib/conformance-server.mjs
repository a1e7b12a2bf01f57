// The server half of the suite: its clients against the gateway, in front of our own fixture of either era.
//
// There is no list of expected failures: every required scenario has to run and to pass.

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { startFixture, startGateway } from "./conformance-gateway.mjs";
import {
  readAll,
  readChecks,
  readRequired,
  results as resultsFolder,
  runSuite,
  scenarioOf,
  selection,
} from "./conformance-suite.mjs";
import { root } from "./install-once.mjs";

export const ERAS = ["modern", "legacy"];
export const TRANSPORTS = ["stdio", "http"];

const ERA_OF = { "2025-11-25": "legacy", "2026-07-28": "modern" };

/** Every run with `sets`, `eras` and `transports`, or with `direct` the fixture alone; returns what is wrong. */
export async function runServer({ sets, eras, transports, only, direct }) {
  const broken = [];
  const runs = runsOf({ sets, eras, transports, direct }).filter(
    ({ set }) => only === undefined || readAll(set, "server").has(only),
  );
  if (runs.length === 0) return ["server: nothing fits what was asked for"];
  for (const { era, transport, set } of runs) {
    const name = direct ? `${era} fixture alone` : `gateway, ${era} upstream over ${transport}`;
    console.log(`\n== MCP ${set}, server: ${name} ==\n`);
    const problems = await runOne({ era, transport, set, only, direct });
    broken.push(...problems.map((problem) => `${set} ${name}: ${problem}`));
  }
  return broken;
}

function runsOf({ sets, eras, transports, direct }) {
  // Alone, the fixture speaks one era, and the suite HTTP.
  if (direct) {
    return sets
      .filter((set) => eras.includes(ERA_OF[set]))
      .map((set) => ({ era: ERA_OF[set], transport: "direct", set }));
  }
  return transports.flatMap((transport) =>
    eras.flatMap((era) => sets.map((set) => ({ era, transport, set }))),
  );
}

async function runOne({ era, transport, set, only, direct }) {
  const output = join(resultsFolder, "server", `${era}-${transport}-${set}`);
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  let target;
  try {
    target = direct
      ? await startFixture(era, join(output, "fixture.log"))
      : await startGateway(era, transport, output);
  } catch (error) {
    console.log(error.message);
    return [error.message.split("\n")[0]];
  }
  const problems = [];
  try {
    const log = await runSuite([
      "server",
      "--url",
      target.url,
      ...selection(set, only),
      "--output-dir",
      output,
    ]);
    problems.push(...judge(readResults(output), { set, only, log, hasTasks: era === "modern" }));
  } finally {
    problems.push(...[await target.stop()].flat().filter(Boolean));
  }
  if (problems.length > 0) console.log(`\nEverything about this run is in ${relative(root, output)}`);
  return problems;
}

function judge(results, { set, only, log, hasTasks }) {
  if (results.length === 0) {
    console.log(log.trim());
    return ["no scenario ran"];
  }
  const required = readRequired(set, "server");
  const wanted = only === undefined ? [...required] : [only].filter((name) => required.has(name));
  const missing = wanted.filter((name) => !results.some(({ scenario }) => scenario === name));
  const scored = results.filter(({ scenario }) => required.has(scenario));
  const optional = results.filter(({ scenario }) => !required.has(scenario));
  const failing = scored.filter(({ ok }) => !ok);
  // The suite does not score the tasks extension, but our fixture has it. One of its scenarios tests nothing yet.
  const failingTasks = optional.filter(
    ({ scenario, failed }) => hasTasks && scenario.startsWith("tasks-") && failed > 0,
  );

  const sum = (key) => scored.reduce((total, result) => total + result[key], 0);
  console.log(
    `${scored.length - failing.length} of ${wanted.length} required scenarios pass ` +
      `(${sum("passed")} checks, ${sum("failed")} failures, ${sum("warnings")} warnings).`,
  );
  printList("Required scenarios that fail", failing, ({ reasons }) => reasons);
  printList(
    "Warnings in required scenarios",
    scored.filter(({ warnings }) => warnings > 0),
    ({ warned }) => warned,
  );
  printOptional(optional);
  return [
    ...[...failing, ...failingTasks].map(({ scenario }) => `${scenario} fails`),
    ...missing.map((name) => `${name} did not run`),
  ];
}

/** One result for each folder `server-<scenario>-<time>`. */
export function readResults(output) {
  return readdirSync(output, { recursive: true })
    .filter((path) => basename(path) === "checks.json")
    .map((path) => {
      const result = readChecks(join(output, path));
      // The messages of a scenario that gave up early may still be well-formed; that alone is no success.
      const tested = result.checks.some(
        ({ id, status }) => id !== "wire-schema-valid" && ["SUCCESS", "FAILURE", "WARNING"].includes(status),
      );
      return {
        ...result,
        scenario: scenarioOf(dirname(path)).replace(/^server-/, ""),
        ok: result.failed === 0 && tested,
      };
    })
    .sort((a, b) => a.scenario.localeCompare(b.scenario));
}

export function printList(heading, results, reasonsOf) {
  if (results.length === 0) return;
  console.log(`\n${heading}:`);
  for (const result of results) {
    const reasons = reasonsOf(result);
    console.log(`  ${result.scenario}: ${reasons[0] ?? "nothing was tested"}`);
    for (const reason of reasons.slice(1)) console.log(`    ${reason}`);
  }
}

function printOptional(results) {
  if (results.length === 0) return;
  console.log("\nOptional scenarios:");
  for (const { scenario, ok, failed, reasons } of results) {
    const outcome = failed === 0 ? "tests nothing" : `fails (${failed}): ${reasons[0]}`;
    console.log(`  ${scenario}: ${ok ? "passes" : outcome}`);
  }
}
