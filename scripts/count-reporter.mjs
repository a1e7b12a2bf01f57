// A vitest reporter: lists the failed tests and the programs that were missing for skipped tests, and ends every run with
// one plain line, `tests: 12 passed, 0 failed`, for people and for CI.
// A file that cannot be loaded and an error outside of any test count as failed, so that the line never reads better than the run.
// With TEST_FORBID_SKIPS=1 a skipped test fails the run: CI has everything that the tests need.
// A run with TEST_RECORD_PASSED=FILE records what passed. A run with TEST_LEAVE_OUT=FILE leaves it out, and its line counts it as
// passed: vitest.config.ts leaves out the files of which every test passed, test/helpers/setup.ts the passed tests of the others.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export default class CountReporter {
  onTestRunEnd(testModules, unhandledErrors) {
    const tests = testModules.flatMap((module) => [...module.children.allTests()]);
    const skipped = tests.filter((test) => test.result().state === "skipped" && !hasPassedBefore(test));
    const isForbidden = process.env.TEST_FORBID_SKIPS === "1" && skipped.length > 0;
    const counts = countResults(testModules, unhandledErrors, isForbidden ? skipped : []);
    const leftOut = process.env.TEST_LEAVE_OUT;
    if (leftOut) counts.passed += JSON.parse(readFileSync(leftOut, "utf8")).tests;
    const line = toLine(counts);
    write(process.env.TEST_COUNT_FILE, `${line}\n`);
    write(process.env.TEST_RECORD_PASSED, JSON.stringify(passedFiles(testModules)));
    if (isForbidden) process.exitCode = 1;
    process.on("exit", () => {
      for (const row of describeFailed(testModules)) console.log(row);
      for (const row of isForbidden ? describeForbidden(skipped) : describeMissing(skipped)) console.log(row);
      console.log(line);
    });
  }
}

function write(file, content) {
  if (!file) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** test/helpers/setup.ts has skipped it, because it passed in a run before. */
const hasPassedBefore = (test) => test.meta().passedBefore === true;

/** The files in which no test failed or was skipped, the number of their tests, and the passed tests of the other files by name. */
function passedFiles(testModules) {
  const isWhole = (module) =>
    module.ok() && [...module.children.allTests()].every((test) => test.result().state === "passed");
  const whole = testModules.filter(isWhole);
  const others = testModules.filter((module) => module.ok() && !isWhole(module));
  return {
    files: whole.map((module) => module.relativeModuleId),
    tests: whole.reduce((sum, module) => sum + [...module.children.allTests()].length, 0),
    passed: Object.fromEntries(others.map((module) => [module.relativeModuleId, passedNames(module)])),
  };
}

/** The names whose tests all passed: a name may belong to several tests. */
function passedNames(module) {
  const tests = [...module.children.allTests()];
  const others = new Set(
    tests.filter((test) => test.result().state !== "passed").map((test) => test.fullName),
  );
  return [...new Set(tests.map((test) => test.fullName))].filter((name) => !others.has(name));
}

function countResults(testModules, unhandledErrors, forbidden) {
  const counts = { passed: 0, failed: unhandledErrors.length + forbidden.length, skipped: -forbidden.length };
  for (const module of testModules) {
    let failedHere = 0;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === "passed" || hasPassedBefore(test)) counts.passed += 1;
      else if (state === "skipped") counts.skipped += 1;
      else failedHere += 1;
    }
    if (failedHere === 0 && !module.ok()) failedHere = 1;
    counts.failed += failedHere;
  }
  return counts;
}

/** The names of the failed tests, each with the first line of its error: at the end of a long log they are found at once. */
function describeFailed(testModules) {
  const rows = testModules
    .filter((module) => !module.ok())
    .flatMap((module) => {
      const failed = [...module.children.allTests("failed")];
      const name = module.relativeModuleId;
      if (failed.length === 0) return [`  ${name}: ${firstLine(module.errors()[0])}`];
      return failed.map((test) => `  ${name} > ${test.fullName}: ${firstLine(test.result().errors?.[0])}`);
    });
  return rows.length === 0 ? [] : ["These tests failed:", ...rows];
}

const firstLine = (error) => String(error?.message ?? "no error message").split("\n", 1)[0];

/** The missing programs that the helper `needs` recorded for a skipped test. */
const missingOf = (test) => test.meta().missing ?? [];

function describeMissing(skipped) {
  const counts = new Map();
  for (const missing of skipped.flatMap(missingOf)) counts.set(missing, (counts.get(missing) ?? 0) + 1);
  if (counts.size === 0) return [];
  const rows = [...counts].map(([missing, count]) => `  ${missing}: ${count} tests`).toSorted();
  return ["Tests were skipped because this machine does not have:", ...rows];
}

function describeForbidden(skipped) {
  const rows = skipped.map((test) => {
    const why = missingOf(test).join(", ");
    return `  ${test.module.relativeModuleId} > ${test.fullName}${why && `: needs ${why}`}`;
  });
  return ["These tests were skipped, and TEST_FORBID_SKIPS=1 does not permit that:", ...rows];
}

function toLine({ passed, failed, skipped }) {
  return `tests: ${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
