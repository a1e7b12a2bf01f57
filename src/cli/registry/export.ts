// `portolan registry export`: a copy of the public part of a registry for any web server, signed for longer.

import { constants } from "node:fs";
import { copyFile, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { PortolanError } from "../../errors/index.ts";
import { layoutOf, openStore } from "../../registry/index.ts";
import type { Cli } from "../context.ts";
import { count } from "../terminal/layout.ts";
import { registryFolder } from "./options.ts";
import { daysOf } from "./operate.ts";
import type { RawRegistryServeOptions } from "./serve.ts";

/**
 * Files first, the index last: a client that reads the copy meanwhile sees the old index, and all that it names. Files
 * never change, so that those of an earlier copy stay.
 */
export async function exportRegistry(
  cli: Cli,
  target: string,
  raw: RawRegistryServeOptions,
): Promise<number> {
  const { io, output } = cli;
  const days = daysOf(raw.validFor, 90);
  const folder = await registryFolder(cli, raw.folder);
  const out = resolve(io.cwd, target);
  if (out === layoutOf(folder).folder || out.startsWith(join(folder, "p")))
    throw new PortolanError("USAGE", "The copy must be outside of the registry's folder.", {
      hint: "Name another target: portolan registry export <target>",
    });
  const store = await openStore(folder, { validForMs: days * 86_400_000 });
  try {
    const { bytes, index } = await store.sign();
    let copied = 0;
    for (const name of ["versions", "files"] as const) {
      const [from, to] = [store.layout[name], join(out, name)];
      await mkdir(to, { recursive: true });
      const there = new Set(await readdir(to));
      for (const file of await readdir(from))
        if (!there.has(file) && /^sha\d+-[0-9a-f]+(\.json)?$/.test(file)) {
          // A copy that is killed leaves no half file under the final name.
          const temporary = join(to, `${file}.tmp`);
          await copyFile(join(from, file), temporary, constants.COPYFILE_FICLONE);
          await rename(temporary, join(to, file)).catch(async (error: unknown) => {
            await rm(temporary, { force: true });
            throw error;
          });
          copied += 1;
        }
    }
    await writeAtomic(join(out, "index.jsonl"), bytes, { mode: 0o644 });
    const { expiresAt } = index;
    if (output.form === "json") output.json({ folder: out, copied, expiresAt });
    else
      output.print(
        `Copied ${count(copied, "new file")} to ${target}. Clients accept the copy until ${expiresAt}; export it again before that.`,
      );
  } finally {
    await store.close();
  }
  return 0;
}
