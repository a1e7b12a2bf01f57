import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exposedName, exposedNames } from "./names.ts";

describe("exposedName", () => {
  it("keeps legal names as they are, with the prefix before them", () => {
    expect(exposedName("read_file")).toBe("read_file");
    expect(exposedName("read_file", "fs")).toBe("fs_read_file");
  });

  it("adds a hash to all other names, so that each result is legal and unique", () => {
    const names = ["a.b", "a/b", "a b", "ä", "x".repeat(65), "x".repeat(66), ""].map((name) =>
      exposedName(name, "p"),
    );
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(new Set(names).size).toBe(names.length);
  });

  it("is legal, stable and collision-free for any pair of names", () => {
    const anyName = fc.string({ unit: "binary", minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(
        anyName,
        anyName,
        fc.option(fc.string({ maxLength: 80 }), { nil: undefined }),
        (one, other, prefix) => {
          const name = exposedName(one, prefix);
          expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
          expect(exposedName(one, prefix)).toBe(name);
          if (Buffer.from(one).toString() !== Buffer.from(other).toString())
            expect(exposedName(other, prefix)).not.toBe(name);
        },
      ),
    );
  });
});

describe("exposedNames", () => {
  it("adds no hash if the names stay unique without it", () => {
    const names = ["fs.read", "fs-read", "a..b", "a.b", "x".repeat(65), "c/d", "c_d"];
    const exposed = exposedNames(names);
    expect(exposed.get("fs.read")).toBe("fs_read");
    expect(exposed.get("fs-read")).toBe("fs-read");
    for (const name of ["a..b", "a.b", "x".repeat(65), "c/d"])
      expect(exposed.get(name)).toBe(exposedName(name));
    // The tool that has the legal name keeps it.
    expect(exposed.get("c_d")).toBe("c_d");
  });

  it("returns one legal and unique name for each name", () => {
    const anyName = fc.oneof(
      fc.string({ unit: fc.constantFrom("a", "b", ".", "_", "-", "/"), minLength: 1, maxLength: 6 }),
      fc.string({ minLength: 1, maxLength: 90 }),
    );
    fc.assert(
      fc.property(fc.uniqueArray(anyName), (names) => {
        const exposed = exposedNames(names);
        expect([...exposed.keys()]).toEqual(names);
        for (const name of exposed.values()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        expect(new Set(exposed.values()).size).toBe(names.length);
      }),
    );
  });
});
