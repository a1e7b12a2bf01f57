// Packs the tarball that would be published and checks it: publint for the manifest, attw for the types.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, runNpm } from "./lib/install-once.mjs";

const folder = mkdtempSync(join(tmpdir(), "portolan-pack-"));
try {
  runNpm(["run", "build"]);
  const [packed] = JSON.parse(runNpm(["pack", "--ignore-scripts", "--json", "--pack-destination", folder]));
  console.log(`${packed.filename}: ${packed.entryCount} files, ${Math.round(packed.size / 1024)} KB packed`);
  const tarball = join(folder, packed.filename);
  run("publint", ["run", "--strict", tarball]);
  run("attw", [tarball, "--profile", "esm-only"]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function run(tool, args) {
  const { status } = spawnSync(process.execPath, [join(root, "node_modules", ...binOf(tool)), ...args], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) {
    console.error(`${tool} failed`);
    process.exitCode = 1;
  }
}

function binOf(tool) {
  return tool === "publint" ? ["publint", "src", "cli.js"] : ["@arethetypeswrong", "cli", "dist", "index.js"];
}
