// A program that does not close its workspace: the watch of the config files does not keep it running.

import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporary } from "../helpers/workspace.ts";

const LIBRARY = JSON.stringify(pathToFileURL(resolve("dist/index.js")).href);

/** Ends when the watch has seen a change, so that it is active. */
const PROGRAM = `
import { writeFileSync } from "node:fs";
import { openWorkspace } from ${LIBRARY};
let writes = 0;
let timer;
await openWorkspace(process.argv[1], {
  snapshots: false,
  onDiagnostic: ({ code }) => {
    if (code !== "FILE_INVALID") return;
    clearInterval(timer);
    console.log("seen");
  },
});
timer = setInterval(() => writeFileSync(process.argv[1] + "/portolan.yaml", "wrong: " + (writes += 1)), 200);
`;

test.skipIf(process.platform === "win32")(
  "a program ends although a workspace without servers is open",
  async () => {
    const words = ["--input-type=module", "-e", PROGRAM, temporary()];
    const { stdout } = await promisify(execFile)(process.execPath, words);
    expect(stdout).toMatch(/^seen\n/);
  },
);
