import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import { createDotenvSource, parseDotenv } from "./dotenv.ts";
import type { CheckFile } from "./source.ts";

const values = (text: string): Record<string, string> => Object.fromEntries(parseDotenv(text).values);

describe("parseDotenv()", () => {
  test.each([
    ["A=1", { A: "1" }],
    ["export A=1\n  B = two words  \r\nC=", { A: "1", B: "two words", C: "" }],
    ["# comment\n\n \t# more\nA=x # not this\nB=x#this\nC=#nothing", { A: "x", B: "x#this", C: "" }],
    ["A='it is $as \\n it stands' # comment", { A: "it is $as \\n it stands" }],
    ['A="a\\n\\t\\"b\\" \\\\ \\$c \\x"', { A: 'a\n\t"b" \\ $c \\x' }],
    [
      'A="first\nsecond # no comment\n\nlast" # comment\nB=2',
      { A: "first\nsecond # no comment\n\nlast", B: "2" },
    ],
    ["A=1\nA=2", { A: "2" }],
    ["\uFEFFA=1", { A: "1" }],
    ["A=a=b==", { A: "a=b==" }],
    ["A=${B}\nB=$A", { A: "${B}", B: "$A" }],
    ["a.b-c_1=x", { "a.b-c_1": "x" }],
    ["__proto__=x", Object.fromEntries([["__proto__", "x"]])],
  ])("reads %j", (text, expected) => {
    expect(parseDotenv(text).problems).toEqual([]);
    expect(values(text)).toEqual(expected);
  });

  test("reports an invalid line by its number, without its value, and reads the other lines", () => {
    const { values: found, problems } = parseDotenv(
      "A=1\nsecret canary\n1B=canary\nC='canary\nD=4\nE='x' canary\nF=6",
    );
    expect(Object.fromEntries(found)).toEqual({ A: "1", D: "4", F: "6" });
    expect(problems.map(({ line }) => line)).toEqual([2, 3, 4, 6]);
    expect(JSON.stringify(problems)).not.toContain("canary");
  });

  test("reports an unclosed double quote, and reads the other lines", () => {
    const { values: found, problems } = parseDotenv('A=1\nB="open\nC=3');
    expect(Object.fromEntries(found)).toEqual({ A: "1", C: "3" });
    expect(problems).toEqual([{ line: 2, message: 'The " of B is not closed.' }]);
  });

  test("reads back any value in double quotes", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", '"', "\\", "$", "\n", "#", "'", " ", "é") }),
        (value) => {
          const escaped = value.replace(/["\\$]/g, (char) => `\\${char}`);
          expect(values(`A="${escaped}"`)).toEqual({ A: value });
        },
      ),
    );
  });
});

describe("the .env file", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "portolan-dotenv-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("is read again when it changes, and gives one warning if others can read it", async () => {
    const file = join(folder, "env");
    await writeFile(file, "TOKEN=first\nEMPTY=\n", { mode: 0o600 });
    const told: Diagnostic[] = [];
    const source = createDotenvSource(file, (diagnostic) => told.push(diagnostic));
    const all = await Promise.all([source.get("TOKEN"), source.get("EMPTY"), source.get("constructor")]);
    expect(all.map((secret) => secret?.reveal())).toEqual(["first", undefined, undefined]);
    expect(await source.list?.()).toEqual(["TOKEN"]);
    expect(told).toEqual([]);

    await writeFile(file, "TOKEN=second one\noops\n");
    await chmod(file, 0o644);
    await Promise.all([source.get("TOKEN"), source.get("TOKEN"), source.get("TOKEN")]);
    expect((await source.get("TOKEN"))?.reveal()).toBe("second one");
    expect(told).toMatchObject([
      { severity: "warning", file, line: 2 },
      { severity: "warning", file, hint: `Let only yourself read the file: chmod 600 ${file}` },
    ]);
    expect(await source.check()).toMatchObject({
      ok: false,
      note: expect.stringContaining("line 2") as string,
    });
  });

  test("keeps its old values if its new content is not trusted", async () => {
    const file = join(folder, "guarded");
    await writeFile(file, "TOKEN=first\n", { mode: 0o600 });
    const told: Diagnostic[] = [];
    const refused: { reason: string; hint: string }[] = [];
    const checkFile: CheckFile = async (path, use) => {
      expect([path, use]).toEqual([file, { isCovered: true }]);
      return refused[0];
    };
    const source = createDotenvSource(file, (diagnostic) => told.push(diagnostic), checkFile);
    expect((await source.get("TOKEN"))?.reveal()).toBe("first");
    refused.push({ reason: "the server x may have written it", hint: "" });
    await writeFile(file, "TOKEN=planted\nMORE=planted\n");
    expect((await source.get("TOKEN"))?.reveal()).toBe("first");
    expect(await source.get("MORE")).toBeUndefined();
    expect(told.map(({ message }) => message)).toEqual([
      `Portolan ignores the current content of ${file}: the server x may have written it.`,
    ]);
  });

  test("gives one diagnostic and no values if it is missing or is a folder", async () => {
    for (const file of [join(folder, "none"), folder]) {
      const told: Diagnostic[] = [];
      const source = createDotenvSource(file, (diagnostic) => told.push(diagnostic));
      expect(await source.get("A")).toBeUndefined();
      expect(await source.list?.()).toEqual([]);
      expect(told).toHaveLength(1);
      expect(await source.check()).toMatchObject({ ok: false });
    }
  });
});
