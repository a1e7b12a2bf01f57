// A vitest reporter: ends every run with one plain line, `tests: 12 passed, 0 failed`, for people and for CI.
// A file that cannot be loaded and an error outside of any test count as failed, so that the line never reads better than the run.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export default class CountReporter {
  onTestRunEnd(testModules, unhandledErrors) {
    const counts = countResults(testModules, unhandledErrors);
    const line = toLine(counts);
    const file = process.env.TEST_COUNT_FILE;
    if (file) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `${line}\n`);
    }
    process.on("exit", () => console.log(line));
  }
}

function countResults(testModules, unhandledErrors) {
  const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
  for (const module of testModules) {
    let failedHere = 0;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === "passed") counts.passed += 1;
      else if (state === "skipped") counts.skipped += 1;
      else failedHere += 1;
    }
    if (failedHere === 0 && !module.ok()) failedHere = 1;
    counts.failed += failedHere;
  }
  return counts;
}

function toLine({ passed, failed, skipped }) {
  return `tests: ${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
