// The end of a process in words.

import { expect, test } from "vitest";
import { describeExit, explainingLine } from "./exit.ts";

test.each([
  [{ code: 3, signal: null }, "exited with code 3"],
  [{ code: null, signal: "SIGKILL" }, "was ended by SIGKILL"],
  [{ code: 137, signal: null }, "was ended by SIGKILL (exit code 137)"],
  [{ code: 139, signal: null }, "was ended by SIGSEGV (exit code 139)"],
  [{ code: 129, signal: null }, "exited with code 129"],
  [{ code: 255, signal: null }, "exited with code 255"],
])("describes the exit %j", (exit, words) => {
  expect(describeExit(exit)).toBe(words);
});

const NODE =
  "node:internal/loader:1\n  throw err;\n  ^\n\nError: Cannot find module '/a.js'\n    at Module._load (x:1)\n  code: 'A',\n}\n\nNode.js v20.20.2\n";

test.each([
  ["listening\n", { code: 137 }, undefined],
  ["listening\n", { signal: "SIGKILL" }, undefined],
  ["warming up\ncannot open the database\n", { code: 1 }, "cannot open the database"],
  [NODE, { code: 1 }, "Error: Cannot find module '/a.js'"],
  [
    "Traceback:\n  File x\nModuleNotFoundError: No module named 'a'\n",
    { code: 1 },
    "ModuleNotFoundError: No module named 'a'",
  ],
  ["", { code: 1 }, undefined],
  [
    "Error [TransformError]: Transform failed with 1 error:\n/a.ts:2:9: ERROR: Unexpected =\n    at fail (x:1)\n",
    { code: 1 },
    "Error [TransformError]: Transform failed with 1 error: /a.ts:2:9: ERROR: Unexpected =",
  ],
  [
    'npm warn config\nnpm error code ENOENT\nnpm error Missing script: "x"\nnpm error A complete log of this run: /a\n',
    { code: 1 },
    'npm error Missing script: "x"',
  ],
  [
    "sh: tsc: not found\nnpm error code 127\nnpm error command sh -c tsc\n",
    { code: 1 },
    "sh: tsc: not found",
  ],
])("finds the line of stderr that explains the exit: %j %j", (stderr, exit, line) => {
  expect(explainingLine(stderr, exit)).toBe(line);
});
