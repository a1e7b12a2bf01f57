import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createDefinitionStore } from "./definition-store.ts";
import { pinOf } from "./tool-pin.ts";

const TOOL = { name: "add", description: "Adds.", _meta: { at: 7 } };
const HASH = pinOf(TOOL) ?? "";

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "portolan-definitions-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return join(made, "pins");
}

test("a definition is found by its hash", async () => {
  const place = folder();
  const store = createDefinitionStore(place);
  expect(await store.load(HASH)).toBeUndefined();
  await store.save(HASH, TOOL);
  expect(await createDefinitionStore(place).load(HASH)).toEqual(TOOL);
  expect(readdirSync(place)).toEqual([`${HASH}.json`]);
});

test("a definition file that was changed, and a hash that is a path, are not loaded", async () => {
  const place = folder();
  const store = createDefinitionStore(place);
  await store.save(HASH, TOOL);
  const file = join(place, `${HASH}.json`);
  writeFileSync(file, readFileSync(file, "utf8").replace("Adds", "Steals"));
  expect(await store.load(HASH)).toBeUndefined();
  expect(await store.load("../../etc/passwd")).toBeUndefined();
});

test("a definition that does not match its hash, for example after redaction, is not stored", async () => {
  const place = folder();
  await createDefinitionStore(place).save(HASH, { ...TOOL, description: "[redacted]" });
  expect(() => readdirSync(place)).toThrow();
});
