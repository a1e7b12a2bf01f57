// Checks package-lock.json: it matches package.json, works on every platform, runs nothing at install, and names no host.

import { readFileSync } from "node:fs";

const read = (name) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), "utf8"));

const problems = findProblems(read("package.json"), read("package-lock.json").packages);
for (const problem of problems) console.error(`package-lock.json: ${problem}`);
if (problems.length === 0) console.log("package-lock.json is fine.");
else process.exitCode = 1;

function findProblems(manifest, packages) {
  const paths = Object.keys(packages);
  const found = [];

  for (const field of ["name", "version"]) {
    if (packages[""][field] !== manifest[field])
      found.push(`${field} differs from package.json; run npm install`);
  }
  for (const field of ["dependencies", "devDependencies", "optionalDependencies"]) {
    const locked = packages[""][field] ?? {};
    const wanted = manifest[field] ?? {};
    for (const name of new Set([...Object.keys(locked), ...Object.keys(wanted)])) {
      if (locked[name] !== wanted[name])
        found.push(`${field}.${name} differs from package.json; run npm install`);
    }
  }

  const names = new Set(
    paths.map((path) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)),
  );
  for (const path of paths) {
    if (path === "") continue;
    const entry = packages[path];
    // npm drops platform packages that were not published when the lock was made; npm ci then fails on those platforms.
    for (const name of Object.keys(entry.optionalDependencies ?? {})) {
      if (!names.has(name))
        found.push(`${path} needs ${name}, which is missing; choose a version that has all its platforms`);
    }
    if (entry.hasInstallScript) found.push(`${path}@${entry.version} runs an install script`);
    if (entry.resolved !== undefined) found.push(`${path} names where it came from (${entry.resolved})`);
    if (entry.integrity === undefined && !entry.link) found.push(`${path} has no integrity hash`);
  }
  return found;
}
