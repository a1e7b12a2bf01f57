// Which prompts and resources of a server a new driver offers.

import { describe, expect, test } from "vitest";
import { proposeSurfaces } from "./surfaces.ts";

describe("prompts and resources", () => {
  const template = (uriTemplate: string, name: string) => ({ uriTemplate, name, description: `${name}.` });

  test("are proposed from the lists of the server", () => {
    const found = proposeSurfaces(
      {
        prompts: [{ name: "sum", description: "Sums\nup." }, { name: "sum" }],
        resources: [
          { uri: "note://index", name: "Index" },
          { uri: "no address", name: "Odd" },
        ],
        templates: [template("note:///{id}", "Note")],
      },
      "my notes",
      new Set(["mcp_my_notes"]),
    );
    expect(found.prompts).toEqual([{ name: "sum", description: "Sums up.", integrateAs: "raw" }]);
    expect(found.resources).toEqual([
      {
        uriTemplate: "note:///{id}",
        description: "Note.",
        integrateAs: "ref_kind",
        refKindId: "mcp_my_notes_2",
      },
      { uriTemplate: "note://index", integrateAs: "raw" },
    ]);
    expect(found.notes).toHaveLength(2);
  });

  test("get a reference kind for each template, and many resources with fixed URIs are omitted", () => {
    const resources = Array.from({ length: 21 }, (_, index) => ({ uri: `n://${index}`, name: "n" }));
    const templates = [template("a:{x}", "A b"), template("b:{x}", "A-b"), template("b:{x}", "again")];
    const found = proposeSurfaces({ prompts: [], resources, templates }, "n", new Set());
    expect(found.resources.map((one) => "refKindId" in one && one.refKindId)).toEqual([
      "mcp_n_a_b",
      "mcp_n_a_b_2",
    ]);
    expect(found.notes.at(-1)).toContain("that have a fixed URI (21)");
  });
});
