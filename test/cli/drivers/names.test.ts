// Contracts whose ids have dots: commands accept the id and the name that agents see, without collisions.

import { describe, expect, it } from "vitest";
import { examplePlace, type Place } from "../../helpers/drivers.ts";

/** The example with `note.read` in place of `note-read`. */
function dotted(): Place {
  const place = examplePlace();
  for (const name of [".drivers/cat-mcp/DRIVER.md", ".drivers/filesystem-mcp/DRIVER.md"])
    place.change(name, (text) => text.replace(/tool: \S*note-read\S*/, "tool: note.read"));
  place.change("tools/note-read/TOOL.md", (text) => text.replace("id: note-read", "id: note.read"));
  return place;
}

const namesOf = (out: string): string[] =>
  (JSON.parse(out) as { tools: { name: string }[] }).tools.map(({ name }) => name);

describe("a contract whose id has a dot", () => {
  it("becomes a readable tool name, and list, resolve and call accept both names", async () => {
    const { run } = dotted();
    const listed = namesOf((await run("list", "contracts", "--json")).out);
    expect(listed).toContain("note_read");
    const wanted = (await run("call", "note.read", "name=hello.md")).out;
    expect(wanted).toContain("A note that two servers can read.");
    for (const name of ["note.read", "note_read"]) {
      expect(namesOf((await run("list", name, "--json")).out)).toEqual(["note_read"]);
      const resolved = await run("resolve", name, "--json");
      expect(JSON.parse(resolved.out)).toMatchObject({ tool: "note.read", selected: "filesystem-mcp" });
      for (const words of [[name], [`contracts.${name}`], ["contracts", name]]) {
        const ran = await run("call", ...words, "name=hello.md");
        expect({ words, out: ran.out, err: ran.err }).toEqual({ words, out: wanted, err: "" });
      }
      expect((await run("call", `${name}(name: "hello.md")`)).out).toBe(wanted);
    }
  });

  it("gets a hash only if two names would be equal", async () => {
    const { run, change, write, file } = dotted();
    write("tools/other/TOOL.md", file("tools/note-read/TOOL.md").replace("id: note.read", "id: note..read"));
    change(".drivers/cat-mcp/DRIVER.md", (text) => text.replace("tool: note.read", "tool: note..read"));
    const listed = namesOf((await run("list", "contracts", "--json")).out).filter((name) =>
      name.startsWith("note_read"),
    );
    expect(listed).toHaveLength(2);
    for (const name of listed) expect(name).toMatch(/^note_read_[\da-f]{8}$/);
    const resolved = JSON.parse((await run("resolve", "note..read", "--json")).out) as object;
    expect(resolved).toMatchObject({ tool: "note..read", selected: "cat-mcp" });
  });
});
