// Prepares a release: version numbers, changelog, commit and tag. Publishing stays a step that a person takes.
//
//   node scripts/release.mjs minor            writes the files, commits and tags
//   node scripts/release.mjs minor --dry-run  checks everything and prints what it would write; CI runs this

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, runNpm } from "./lib/install-once.mjs";

const MAX_PACKED_KB = 3072;
const MAX_FILES = 800;

const [kind, ...options] = process.argv.slice(2);
const isDryRun = options.includes("--dry-run");

try {
  const current = JSON.parse(read("package.json")).version;
  const next = nextVersion(current, kind);
  const problems = findProblems(current, next);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  console.log(`${current} -> ${next}`);
  const files = changedFiles(current, next);
  for (const [path, text] of files) {
    console.log(`${isDryRun ? "would write" : "writing"} ${path}`);
    if (!isDryRun) writeFileSync(join(root, path), text);
  }
  if (!isDryRun) commit(next, [...files.keys()]);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

function nextVersion(current, wanted) {
  const [major, minor, patch] = current.split(".").map(Number);
  const known = {
    major: `${major + 1}.0.0`,
    minor: `${major}.${minor + 1}.0`,
    patch: `${major}.${minor}.${patch + 1}`,
  };
  const next = known[wanted] ?? wanted;
  if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(next ?? ""))
    throw new Error("Usage: node scripts/release.mjs <major | minor | patch | x.y.z> [--dry-run]");
  return next;
}

/** Everything that would make the release wrong, all at once. */
function findProblems(current, next) {
  const problems = [];
  const changelog = read("CHANGELOG.md");
  if (!/^## Unreleased\n+(?!## )\S/m.test(changelog))
    problems.push('CHANGELOG.md: there is nothing under "## Unreleased".');
  if (changelog.includes(`## ${next}`)) problems.push(`CHANGELOG.md: ${next} is there already.`);
  if (!read(versionFile()).includes(`"${current}"`))
    problems.push(`${versionFile()}: VERSION is not ${current}, the version of package.json.`);
  if (git("tag", "--list", `v${next}`) !== "") problems.push(`The tag v${next} exists.`);
  if (!isDryRun && git("status", "--porcelain") !== "")
    problems.push("There are uncommitted changes: commit or stash them.");
  const [packed] = JSON.parse(runNpm(["pack", "--dry-run", "--ignore-scripts", "--json"]));
  console.log(`${packed.filename}: ${packed.entryCount} files, ${Math.round(packed.size / 1024)} KB packed`);
  if (!packed.files.some(({ path }) => path === "dist/index.js"))
    problems.push("There is no dist/: run npm run build.");
  if (packed.size > MAX_PACKED_KB * 1024 || packed.entryCount > MAX_FILES)
    problems.push(
      `The package is larger than ${MAX_PACKED_KB} KB or ${MAX_FILES} files: see "files" in package.json.`,
    );
  return problems;
}

/** The new text of each file that contains the version. */
function changedFiles(current, next) {
  const date = new Date().toISOString().slice(0, 10);
  const replaceFirst = (path) => [path, read(path).replace(`"${current}"`, `"${next}"`)];
  const lock = JSON.parse(read("package-lock.json"));
  lock.version = next;
  lock.packages[""].version = next;
  return new Map([
    replaceFirst("package.json"),
    replaceFirst(versionFile()),
    ["package-lock.json", `${JSON.stringify(lock, undefined, 2)}\n`],
    ["CHANGELOG.md", read("CHANGELOG.md").replace("## Unreleased", `## Unreleased\n\n## ${next} (${date})`)],
  ]);
}

function commit(next, paths) {
  git("add", ...paths);
  git("commit", "--quiet", "--message", `Release ${next}`);
  git("tag", "--annotate", `v${next}`, "--message", `Portolan ${next}`);
  console.log(`Next: .ci/run, then git push --follow-tags && npm publish`);
}

/** The source file that tells servers and clients the version. */
function versionFile() {
  const found = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).find((name) =>
    /(?:^|[\\/])version\.ts$/.test(name),
  );
  if (found === undefined) throw new Error("src/: there is no version.ts.");
  return join("src", found);
}

function read(path) {
  return readFileSync(join(root, path), "utf8");
}

function git(...words) {
  return execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
}
