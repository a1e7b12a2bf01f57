// Checks every entry of the store for `portolan doctor`, and names the command that repairs a broken one.

import { join } from "node:path";
import { toPortolanError } from "../../errors/index.ts";
import { parsePackageSpec } from "../../model/index.ts";
import type { Finding } from "../../sandbox/index.ts";
import { listOf } from "../npm/install.ts";
import { readLock } from "../npm/lock.ts";
import { defaultStoreRoot, type Inspected, openStore, type Store } from "./store.ts";

export async function checkStore(root?: string): Promise<Finding[]> {
  const place = root ?? (await defaultStoreRoot());
  try {
    const [packages, files] = [openStore(place, "npm"), openStore(place, "files")];
    return [
      ...(await findingsOf(packages, ({ record: { spec, name, key } }) =>
        commandFor(spec, name, packages.folderOf(key)),
      )),
      // The store does not record which server a download belongs to.
      ...(await findingsOf(files, async () => "portolan install")),
    ];
  } catch (error) {
    const remedy = `rm -r ${quoted(place)}`;
    return [
      {
        what: "the store of installed packages can be read",
        ok: false,
        detail: toPortolanError(error, {}).message,
        remedy,
      },
    ];
  }
}

async function findingsOf(
  store: Store,
  remedyFor: (found: Inspected) => Promise<string>,
): Promise<Finding[]> {
  const all = await Promise.all((await store.list()).map(({ spec }) => store.inspect(spec)));
  return Promise.all(
    all
      .filter((found) => found !== undefined)
      .map(async (found) => {
        const what = `${found.record.name}@${found.record.version}`;
        if (found.broken.length === 0) return { what, ok: true };
        return { what, ok: false, detail: listOf(found.broken), remedy: await remedyFor(found) };
      }),
  );
}

/** npx needs the program's name for a package with several programs. */
async function commandFor(spec: string, name: string, folder: string): Promise<string> {
  const parsed = parsePackageSpec(spec);
  if (typeof parsed === "string") return "portolan install";
  const lock = await readLock(join(folder, "package-lock.json")).catch(() => undefined);
  const bins = lock?.get(`node_modules/${name}`)?.bin ?? new Map<string, string>();
  const isClear = bins.has(name.replace(/^@[^/]*\//, "")) || new Set(bins.values()).size <= 1;
  const [first = ""] = bins.keys();
  const words = isClear ? [`${name}@${parsed.range}`] : ["-p", `${name}@${parsed.range}`, first];
  const registry = parsed.registry === undefined ? [] : [`--registry=${parsed.registry}`];
  return ["portolan install -- npx -y", ...[...registry, ...words].map(quoted)].join(" ");
}

function quoted(word: string): string {
  return /^[\w@%+=:,./^-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
