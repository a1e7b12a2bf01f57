import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { watchCatalog } from "./watch.ts";
test("x", async () => {
  const d = mkdtempSync(join(tmpdir(), "zz-"));
  const f = join(d, "manifest.yaml");
  const m = (c: string) => `config:\n  servers:\n    - {alias: a, transport: stdio, command: ${c}}\n`;
  writeFileSync(f, m("x"));
  const w = await watchCatalog(d, (c) => console.log("change", c.added, c.changed), undefined, { debounceMs: 30 });
  for (const c of ["y", "z", "w"]) {
    writeFileSync(f, m(c));
    console.log("wrote", c);
    await new Promise((r) => setTimeout(r, 500));
  }
  await w.close();
});
