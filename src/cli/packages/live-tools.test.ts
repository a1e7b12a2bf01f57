import { expect, test } from "vitest";
import { createColors } from "../terminal/colors.ts";
import { noteTools } from "./add.ts";
import { compareTools, type ComparedTools, toLiveTool } from "./live-tools.ts";

const HIDDEN = Array.from("send", (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xe0000)).join("");
const good = toLiveTool({ description: "Adds." }, "add");
const bad = toLiveTool({ description: `Reads.${HIDDEN}` }, "it's bad");

function notes(tools: ComparedTools): string[] {
  const lines: string[] = [];
  const output = { note: (text: string) => lines.push(text), noteColors: createColors(false) };
  noteTools({ output } as unknown as Parameters<typeof noteTools>[0], "math", tools);
  return lines;
}

test("a tool with a critical finding is not pinned, and the message names the finding and the command", () => {
  for (const declared of [undefined, [{ name: "add" }, { name: "it's bad" }]]) {
    const compared = compareTools([good, bad], { tools: declared });
    expect(compared.pins).toEqual({ add: good.hash });
    expect(compared.findings).toEqual([]);
    expect(notes(compared)).toEqual([
      `warning The definition of the tool it's bad is not approved, so Portolan withholds (does not offer) the tool: description contains tag characters, which spell "send". To approve the tool nevertheless: portolan pins approve math 'it'\\''s bad' --allow-findings`,
    ]);
  }
});

test("an update keeps the pin of a definition that a person approved, and does not approve another one", () => {
  const same = compareTools([good, bad], { tools: undefined }, { "it's bad": bad.hash ?? "" });
  expect(same.pins).toEqual({ add: good.hash, "it's bad": bad.hash });
  expect(same.refused).toEqual([]);
  expect(same.findings).toMatchObject([{ tool: "it's bad", severity: "error" }]);

  const other = compareTools([good, bad], { tools: undefined }, { "it's bad": "p1-earlier" });
  expect(other.pins).toEqual({ add: good.hash, "it's bad": "p1-earlier" });
  expect(other.refused).toMatchObject([{ tool: "it's bad", rule: "hidden-text" }]);
});

test("many refused tools are counted, and contracts are only shown", () => {
  const many = Array.from({ length: 22 }, (_, at) => toLiveTool({ description: HIDDEN }, `bad-${at}`));
  const compared = compareTools(many, {
    contracts: [{ id: "sum", version: "1.0.0", description: `Sum${HIDDEN}` }] as never,
  });
  expect(compared.refused).toHaveLength(22);
  expect(compared.findings).toMatchObject([{ tool: "sum" }]);
  const lines = notes(compared);
  expect(lines).toHaveLength(22);
  expect(lines.at(-1)).toBe(
    "warning 2 other tools with critical findings are withheld too. To see all of them: portolan pins math",
  );
});
