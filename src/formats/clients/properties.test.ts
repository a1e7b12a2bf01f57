import fc from "fast-check";
import { expect, test } from "vitest";
import { CLIENTS } from "./known/clients.ts";
import { parseClientFile } from "./parse.ts";
import { formatPieces, parsePieces } from "./references/pieces.ts";
import type { ClientId, ClientServer, WritableServer } from "./types.ts";
import { mergeInto, renderFor } from "./write.ts";

const ids = Object.keys(CLIENTS) as ClientId[];
const context = { home: "/home/me", cwd: "/work", platform: "linux" } as const;
const FILES: Record<ClientId, string> = {
  "claude-code": "/project/.mcp.json",
  "claude-desktop": "/home/me/.config/Claude/claude_desktop_config.json",
  cursor: "/project/.cursor/mcp.json",
  windsurf: "/home/me/.codeium/windsurf/mcp_config.json",
  vscode: "/project/.vscode/mcp.json",
  codex: "/home/me/.codex/config.toml",
  gemini: "/project/.gemini/settings.json",
  opencode: "/project/opencode.json",
  axle: "/project/axle.yaml",
};

const client = fc.constantFrom(...ids);
const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/);
const literal = fc.oneof(
  { weight: 3, arbitrary: fc.string({ maxLength: 12 }) },
  { weight: 1, arbitrary: fc.string({ maxLength: 8, unit: "grapheme" }) },
  fc.constantFrom(
    "$",
    "${",
    "}",
    "$${",
    "$HOME",
    "{env:A}",
    "${workspaceFolder}",
    "%PATH%",
    "\\",
    '"',
    "'",
    "#",
    "//",
    "\n",
    "\t",
  ),
);
const text = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: literal },
      name.map((one) => `\${${one}}`),
      name.map((one) => `\${env:${one}}`),
      name.map((one) => `\${secrets.${one}}`),
      fc.tuple(name, fc.stringMatching(/^[a-z0-9]{0,4}$/)).map(([one, other]) => `\${${one}:-${other}}`),
      fc.constant("${file:/etc/secret}"),
    ),
    { maxLength: 4 },
  )
  .map((parts) => parts.join("").replaceAll("\0", ""));
const line = text.map((one) => one.replace(/[\r\n]/g, ""));
const stdio = fc.record(
  {
    transport: fc.constant("stdio" as const),
    command: fc.oneof(
      fc.constantFrom("npx", "uvx", "/usr/bin/node"),
      fc.stringMatching(/^[a-z][a-z ]{0,8}$/),
    ),
    args: fc.array(text, { minLength: 1, maxLength: 4 }),
    env: fc.dictionary(name, text, { minKeys: 1, maxKeys: 3 }),
    cwd: fc.constantFrom("/srv/a", "/work"),
  },
  { requiredKeys: ["transport", "command"] },
);
const remote = fc
  .record(
    {
      transport: fc.constantFrom("http" as const, "sse" as const, "websocket" as const),
      query: fc.stringMatching(/^[a-z0-9]{0,8}$/),
      headers: fc.dictionary(
        fc.oneof(
          fc.constantFrom("Authorization", "X-Api-Key"),
          fc.stringMatching(/^[A-Za-z][A-Za-z-]{0,8}$/),
        ),
        fc.oneof(
          line,
          name.map((one) => `Bearer \${${one}}`),
        ),
        { minKeys: 1, maxKeys: 3 },
      ),
    },
    { requiredKeys: ["transport", "query"] },
  )
  .map(({ query, ...rest }) => ({
    ...rest,
    url: `${rest.transport === "websocket" ? "wss" : "https"}://example.com/mcp?q=${query}`,
  }));
const tools = fc.uniqueArray(fc.stringMatching(/^[a-z_]{1,6}$/), { minLength: 1, maxLength: 3 });
const server: fc.Arbitrary<WritableServer> = fc.record(
  {
    alias: fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,10}$/),
    origin: fc.constant({ file: "", line: 1, column: 1, format: "test" }),
    endpoint: fc.oneof(stdio, remote),
    enabled: fc.boolean(),
    limits: fc.record(
      {
        startTimeoutMs: fc.integer({ min: 1, max: 1e6 }),
        requestTimeoutMs: fc.integer({ min: 1, max: 1e6 }),
      },
      { requiredKeys: ["startTimeoutMs"] },
    ),
    allowTools: tools,
    blockTools: tools,
  },
  { requiredKeys: ["alias", "origin", "endpoint", "enabled"] },
);
const servers = fc.uniqueArray(server, { selector: ({ alias }) => alias, maxLength: 4 });

/** Turns each reference of the kind `any` into one of the kind `env`, because some clients do not distinguish these. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, item: unknown) =>
      typeof item === "string"
        ? formatPieces(
            parsePieces(item).map((piece) =>
              typeof piece === "object" && piece.kind === "any" ? { ...piece, kind: "env" } : piece,
            ),
          )
        : item,
    ),
  );
}

function comparable({ alias, endpoint, enabled, limits, allowTools, blockTools }: WritableServer): unknown {
  return plain({ alias, endpoint, enabled, limits, allowTools, blockTools });
}

test.each(ids)("%s: reads back each server that was written without a note", (id) => {
  fc.assert(
    fc.property(servers, (given) => {
      const { text: written, notes } = renderFor(id, given);
      const noted = new Set(notes.map(({ server: alias }) => alias));
      const read = parseClientFile(written, FILES[id], id, context);
      expect(read?.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
      const whole = given.filter(({ alias }) => !noted.has(alias));
      const found = new Map(read?.servers.map((one): [string, ClientServer] => [one.alias, one]));
      for (const one of whole)
        expect(comparable(found.get(one.alias) as ClientServer)).toEqual(comparable(one));
    }),
    { numRuns: 120 },
  );
});

test.each(ids)(
  "%s: merging the servers of a file into it changes nothing, and a second merge changes nothing",
  (id) => {
    fc.assert(
      fc.property(servers, servers, (first, second) => {
        const file = FILES[id];
        const start = renderFor(id, first).text;
        const read = parseClientFile(start, file, id, context)?.servers ?? [];
        expect(mergeInto(id, start, read, { ...context, file }).text).toBe(start);
        const merged = mergeInto(id, start, second, { ...context, file }).text;
        expect(mergeInto(id, merged, second, { ...context, file }).text).toBe(merged);
        const again = parseClientFile(merged, file, id, context);
        expect(again?.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
        // No server is lost.
        const names = new Set(
          [...read, ...(parseClientFile(renderFor(id, second).text, file, id, context)?.servers ?? [])].map(
            ({ alias }) => alias,
          ),
        );
        expect(new Set(again?.servers.map(({ alias }) => alias))).toEqual(names);
      }),
      { numRuns: 80 },
    );
  },
);

test("never throws, for any text", () => {
  const scraps = fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    '"mcpServers"',
    ":",
    ",",
    '"command"',
    "\n",
    "[mcp_servers.a]",
    "command = ",
    '"x"',
    "services:",
    "  mcp:",
    "    - name: a",
    "//",
    "/*",
    "#",
    "null",
    "${",
    '"""',
    "&a",
    "*a",
    "{a: *a}",
    "\uFEFF",
  );
  const file = fc.constantFrom(
    ...Object.values(FILES),
    "/x/unknown.json",
    "/x/unknown.toml",
    "/x/unknown.yaml",
    "/x/plain",
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string({ unit: "binary" }),
        fc.array(scraps).map((parts) => parts.join(" ")),
        fc.json(),
      ),
      file,
      fc.option(client, { nil: undefined }),
      (anything, place, id) => {
        const read = parseClientFile(anything, place, id, context);
        for (const { line: row, column } of read?.diagnostics ?? []) {
          expect(row).toBeGreaterThan(0);
          expect(column).toBeGreaterThan(0);
        }
      },
    ),
    { numRuns: 1_500 },
  );
});

test("never throws on unexpected values of known keys", () => {
  const value = fc.jsonValue({ maxDepth: 3 });
  const entry = fc.dictionary(
    fc.constantFrom(
      "command",
      "args",
      "env",
      "url",
      "headers",
      "type",
      "transport",
      "enabled",
      "disabled",
      "cwd",
      "timeout",
      "env_vars",
      "env_http_headers",
      "bearer_token_env_var",
      "bearer_token",
      "envFile",
      "enabled_tools",
      "__proto__",
      "constructor",
    ),
    value,
  );
  fc.assert(
    fc.property(client, fc.dictionary(fc.string(), fc.oneof(entry, value)), (id, map) => {
      const key = { vscode: "servers", opencode: "mcp" }[id as string] ?? "mcpServers";
      const source = JSON.stringify({ [key]: map, projects: map, inputs: map, mcp: map });
      expect(() => parseClientFile(source, "/x/a.json", id, { ...context, projects: "all" })).not.toThrow();
    }),
    { numRuns: 800 },
  );
});

test("does not throw on very deeply nested text", () => {
  for (const deep of [
    "[".repeat(30_000),
    '{"a":'.repeat(30_000),
    "a = " + "[".repeat(30_000),
    "- ".repeat(20_000),
  ])
    for (const id of ids) expect(() => parseClientFile(deep, FILES[id], id, context)).not.toThrow();
  const whole = `${'{"mcpServers":'.repeat(30_000)}1${"}".repeat(30_000)}`;
  expect(() => parseClientFile(whole, FILES.cursor, "cursor", context)).not.toThrow();
});
