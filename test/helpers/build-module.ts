// Builds a TypeScript module for a test that runs it in other processes: Node 20 does not read TypeScript, and dist/ may be older
// than the sources.

import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";

/** Returns the URL of the built module. */
export async function buildModule(source: URL, folder: string): Promise<string> {
  const file = fileURLToPath(source);
  const name = basename(file).replace(/\.ts$/, ".mjs");
  await build({
    configFile: false,
    logLevel: "silent",
    root: dirname(file),
    ssr: { noExternal: true },
    build: {
      ssr: file,
      outDir: folder,
      emptyOutDir: true,
      target: "node20",
      rolldownOptions: { output: { entryFileNames: name } },
    },
  });
  return pathToFileURL(join(folder, name)).href;
}
