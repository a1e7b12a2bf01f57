// Damaged files of an installed package: `portolan audit` names each of them, and `portolan install` replaces them.

import { readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { renderLock } from "../../src/packages/index.ts";
import { makeZip } from "../fixtures/lib/zip.mjs";
import { portolan, type Ran, resultText } from "../helpers/cli.ts";
import { packageFolder, SERVER_SCRIPT, sri } from "../helpers/packages.ts";
import type { Loose } from "../helpers/registry.ts";

const manifest = JSON.stringify({
  ...{ manifest_version: "0.3", name: "tiny", version: "1.2.0", description: "A small server." },
  author: { name: "Alice" },
  server: {
    ...{ type: "node", entry_point: "server/index.js" },
    mcp_config: { command: "node", args: ["${__dirname}/server/index.js"] },
  },
});

/** More files than are compared at a start. */
function bundle(): Buffer {
  const others = Array.from({ length: 600 }, (_, index) => [`server/part-${index}.js`, `// ${index}\n`]);
  const files = { "manifest.json": manifest, "server/index.js": SERVER_SCRIPT };
  return makeZip(
    [...Object.entries(files), ...others].map(([path, body]) => ({ path: path ?? "", body: body ?? "" })),
  );
}

function writeWorkspace(folder: string): void {
  const bytes = bundle();
  writeFileSync(join(folder, "tiny.mcpb"), bytes);
  writeFileSync(
    join(folder, "portolan.yaml"),
    'servers:\n  tiny:\n    package: "mcpb:./tiny.mcpb"\n    sandbox: { mode: "off" }\n',
  );
  const locked = {
    ...{ name: "tiny", version: "1.2.0", source: "mcpb:./tiny.mcpb" },
    ...{ integrity: sri(bytes), metadata: sri(manifest) },
  };
  const lock = { lockfileVersion: 1 as const, servers: { tiny: { package: locked } } };
  writeFileSync(join(folder, "portolan.lock"), renderLock(lock));
}

it("a changed byte, a deleted file and an added file are reported, and repaired by an installation", async () => {
  const folder = packageFolder();
  writeWorkspace(folder);
  const user = (...words: string[]): Promise<Ran> =>
    portolan([...words, "--json"], { cwd: folder, env: { XDG_DATA_HOME: join(folder, "data") } });
  const damaged = async (): Promise<{ code: number | null; found: string[] }> => {
    const { code, out } = await user("audit", "--offline", "--sarif", "audit.sarif");
    const findings = (JSON.parse(out) as Loose)["findings"] as Loose[];
    const found = findings.filter(({ rule }) => String(rule).startsWith("files-"));
    return { code, found: found.map(({ severity, message }) => `${severity} ${message}`) };
  };
  expect((await damaged()).found).toEqual(["note The files of tiny@1.2.0 are not on this machine."]);
  expect((await user("install")).code).toBe(0);
  expect(await damaged()).toEqual({ code: 0, found: [] });

  const entries = join(folder, "data", "portolan", "store", "files", "entries");
  const [entry = ""] = readdirSync(entries);
  const server = join(entries, entry, "content", "server");
  const part = join(server, "part-599.js");
  const { atime, mtime } = statSync(part);
  writeFileSync(part, readFileSync(part, "utf8").replace("599", "598"));
  // Size and time are as before, so that only the hash shows the change.
  utimesSync(part, atime, mtime);
  rmSync(join(server, "part-598.js"));
  writeFileSync(join(server, "added.js"), "");
  expect(await damaged()).toEqual({
    code: 1,
    found: [
      "error Files of tiny@1.2.0 changed after the installation: content/server/added.js was added.",
      "error Files of tiny@1.2.0 changed after the installation: content/server/part-598.js is missing.",
      "error Files of tiny@1.2.0 changed after the installation: content/server/part-599.js was changed.",
    ],
  });
  const { results } = (JSON.parse(readFileSync(join(folder, "audit.sarif"), "utf8")) as Loose)["runs"][0];
  const prints = (results as Loose[])
    .filter(({ ruleId }) => ruleId === "files-damaged")
    .map(({ partialFingerprints }) => partialFingerprints["portolan/v1"] as string);
  expect(prints).toContain("files-damaged/tiny/content/server/part-599.js");
  expect(new Set(prints).size).toBe(3);

  const mended = await user("install", "tiny");
  expect(mended.code).toBe(0);
  expect(mended.out).toContain("content/server/part-598.js is missing");
  expect(await damaged()).toEqual({ code: 0, found: [] });
  expect(resultText(await user("call", "tiny.echo"))).toContain("args");
});
