// Notices of the packages whose code is bundled into dist/: name, version and license text of each.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** `moduleIds` are the paths of all bundled modules. */
export function thirdPartyNotices(moduleIds) {
  const folders = new Set(
    moduleIds.flatMap(
      (id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll("\\", "/"))?.[0] ?? [],
    ),
  );
  const byLicense = new Map();
  for (const folder of [...folders].toSorted((a, b) => a.localeCompare(b))) {
    const { name, version, license, author } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    if (license === undefined) throw new Error(`${name} has no license, so that it cannot be bundled`);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text =
      file === undefined
        ? `Copyright: ${author?.name ?? author}`
        : readFileSync(join(folder, file), "utf8").trim();
    byLicense.set(text, [...(byLicense.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const parts = [...byLicense].map(([text, names]) => `${names.join("\n")}\n\n${text}\n`);
  return `Portolan contains code of these packages:\n\n${parts.join(`\n${"-".repeat(80)}\n\n`)}`;
}
