import fc from "fast-check";
import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { openDocument } from "./index.ts";
import { toTomlTable, toTomlValue } from "./toml-render.ts";

const CONFIG = `# my settings
model = "gpt-5"   # the big one
notify = ["bash", "-c", "echo '[mcp_servers.fake]'"]

[tui]
theme = """
[mcp_servers.also_fake]
command = "no"
"""

[mcp_servers.docs]  # documentation
# how to start it
command   =   "npx"
args = [
  "-y",      # yes
  "docs-mcp",
]
startup_timeout_sec = 20 # slow
[mcp_servers.docs.env]
LOG = "1" # quiet
KEEP = 'as is'

[mcp_servers.docs.tools.search]
approval_mode = "approve"

[mcp_servers.inline]
url = "https://x.example/mcp"
http_headers = { "X-A" = "1", "X-B" = "2" }

[profiles.fast]
model = "mini"
`;

test("finds the ranges of values, also of tables that are in several places", () => {
  const at = (path: (string | number)[]): string | undefined => {
    const range = openDocument("toml", CONFIG).rangeOf(path);
    return range === undefined ? undefined : CONFIG.slice(range.start, range.end);
  };
  expect(at(["mcp_servers", "docs", "command"])).toBe('"npx"');
  expect(at(["mcp_servers", "docs", "args", 1])).toBe('"docs-mcp"');
  expect(at(["mcp_servers", "docs", "env", "KEEP"])).toBe("'as is'");
  expect(at(["mcp_servers", "inline", "http_headers", "X-B"])).toBe('"2"');
  expect(at(["mcp_servers", "fake"])).toBeUndefined();
  expect(at(["mcp_servers"])?.startsWith("[mcp_servers.docs]")).toBe(true);
});

const key = fc.oneof(fc.stringMatching(/^[a-z]{1,3}$/), fc.string({ maxLength: 4 }));
const scalar = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ maxLength: 4, unit: "grapheme" }),
  fc.integer(),
  fc.boolean(),
);
const value = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(key, scalar, { maxKeys: 3 }),
);
const table = fc.dictionary(key, value, { maxKeys: 4 });

test("reads back the values that it writes", () => {
  fc.assert(
    fc.property(value, (one) => {
      expect(JSON.parse(JSON.stringify(parse(`x = ${toTomlValue(one)}\n`)["x"]))).toEqual(
        JSON.parse(JSON.stringify(one)),
      );
    }),
  );
});

test("sets and removes any value at any place, and changes nothing else", () => {
  const comment = fc.stringMatching(/^[ -~]{0,10}$/);
  fc.assert(
    fc.property(
      fc.dictionary(key, table, { minKeys: 1, maxKeys: 3 }),
      key,
      fc.option(value, { nil: undefined }),
      comment,
      fc.boolean(),
      (all, name, wanted, note, windows) => {
        const eol = windows ? "\r\n" : "\n";
        const text = `top = 1 # ${note}${eol}${Object.entries(all)
          .map(([one, entry]) => `# ${note}${eol}${toTomlTable(["mcp_servers", one], entry, eol)}`)
          .join(eol)}`;
        const [server = ""] = Object.keys(all);
        // The document gives no result if anything else has changed.
        const path = ["mcp_servers", server, name];
        const edited = openDocument("toml", text)
          .edit([{ path, value: wanted }])
          ?.render();
        const kept = edited?.split(eol).filter((line) => line.startsWith("#") || line.startsWith("top"));
        expect(kept).toEqual(
          text.split(eol).filter((line) => line.startsWith("#") || line.startsWith("top")),
        );
      },
    ),
    { numRuns: 500 },
  );
});
