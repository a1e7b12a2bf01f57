import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { missingPath } from "./missing-path.ts";

const folder = mkdtempSync(join(tmpdir(), "portolan-missing-"));
const at = (name: string): string => join(folder, name);
mkdirSync(at("there"));
writeFileSync(at("file"), "");
symlinkSync("nowhere", at("link"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ["plain", `mkdir -p ${at("plain")}`],
  ["sp ace", `mkdir -p '${at("sp ace")}'`],
  ["$dollar", `mkdir -p '${at("$dollar")}'`],
  ["it's", `mkdir -p '${at("it")}'\\''s'`],
  [".hidden", `mkdir -p ${at(".hidden")}`],
  ["there/notes.db", `Create the file ${at("there/notes.db")} first, or correct the path.`],
  ["link", `Create ${at("nowhere")}, or correct the link.`],
  ["link/below", `Create ${at("nowhere")}, or correct the link.`],
  ["file/below", "Correct the path."],
  ["tehre", `Did you mean ${at("there")}? If not, run \`mkdir -p ${at("tehre")}\`.`],
  ["tehre/below", `mkdir -p ${at("tehre/below")}`],
])("the remedy for the missing path %s", async (name, remedy) => {
  expect((await missingPath(at(name))).remedy).toBe(remedy);
});

test("the remedy creates a folder if the path must be a folder", async () => {
  expect(await missingPath(at("v1.2"), true)).toEqual({
    problem: "there is no such folder",
    remedy: `mkdir -p ${at("v1.2")}`,
  });
});
