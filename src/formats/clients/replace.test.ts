import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatReference } from "../../model/index.ts";
import type { ClientId, WritableServer } from "./index.ts";
import { hasEntry, listEntries, planReplacement, replaceServers, restoreServers } from "./index.ts";
import type { EntryPlace, Replacement } from "./replace.ts";

const GATEWAY: WritableServer = {
  alias: "portolan",
  name: "portolan",
  enabled: true,
  origin: { file: "", line: 1, column: 1, format: "cursor" },
  endpoint: { transport: "stdio", command: "/usr/bin/node", args: ["main.js", "serve", "--stdio"] },
};

const FILES: Readonly<Record<Exclude<ClientId, "axle">, string>> = {
  "claude-code": `{"numStartups":3,"mcpServers":{"a":{"type":"stdio","command":"x"},"b":{"type":"stdio","command":"y"}}}`,
  "claude-desktop": `{\n\t"mcpServers": {\n\t\t"a": { "command": "x" },\n\t\t"b": { "command": "y" }\n\t}\n}`,
  cursor: `\uFEFF{\r\n  // mine\r\n  "mcpServers": {\r\n    "b": { "command": "y" },\r\n    "a": {\r\n      "command": "x" // why\r\n    },\r\n  },\r\n  "other": [1,   2]\r\n}`,
  windsurf: `{ "mcpServers": { "a": { "command": "x" }, "b": { "command": "y" } } }\n`,
  vscode: `{\n  "servers": {\n    "a": { "type": "stdio", "command": "x" },\n    "b": { "type": "stdio", "command": "y" }\n  },\n  "inputs": []\n}\n`,
  codex: `model = "o3" # kept\n\n[mcp_servers.a]\ncommand = "x" # why\n\n[mcp_servers.b]\ncommand = "y"\n`,
  gemini: `{\n  "theme": "dark",\n  "mcpServers": {\n    "a": { "command": "x" },\n    "b": { "command": "y" }\n  }\n}\n`,
  opencode: `{\n  // v1\n  "mcp": {\n    "a": { "type": "local", "command": ["x"] },\n    "b": { "type": "local", "command": ["y"] }\n  }\n}\n`,
};

const CASES = Object.entries(FILES) as [ClientId, string][];

function names(client: ClientId, text: string): string[] {
  return listEntries(text, "/home/me/file", client)
    .map(({ place }) => place.name)
    .toSorted();
}

function plan(client: ClientId, text: string, removed: readonly string[], server = GATEWAY): Replacement {
  const places = listEntries(text, "/home/me/file", client)
    .map(({ place }) => place)
    .filter(({ name }) => removed.includes(name));
  const planned = planReplacement(client, text, server, places);
  if (planned === undefined) throw new Error("the client cannot have the server");
  const { notes: _notes, ...replacement } = planned;
  return replacement;
}

describe.each(CASES)("servers in the file of %s", (client, text) => {
  it("are replaced by the entry of the gateway, and every other line stays unchanged", () => {
    const replacement = plan(client, text, ["a"]);
    const after = replaceServers(client, text, replacement);
    expect(names(client, after)).toEqual(["b", "portolan"]);
    expect(hasEntry(client, after, replacement)).toBe(true);
    for (const kept of ["// mine", "// v1", '"other": [1,   2]', 'model = "o3" # kept', "\uFEFF"])
      if (text.includes(kept)) expect(after).toContain(kept);
  });

  it("are restored in a file that was edited in the meantime, and the edits stay", () => {
    const replacement = plan(client, text, ["a", "b"]);
    const after = replaceServers(client, text, replacement);
    const edited = replaceServers(client, after, plan(client, after, [], { ...GATEWAY, name: "mine" }));
    const done = restoreServers(client, edited, text, replacement);
    expect(done).toMatchObject({ entry: "removed", kept: [] });
    expect(names(client, done.text)).toEqual(["a", "b", "mine"]);
    // Also the comments inside of the servers.
    if (text.includes("why")) expect(done.text).toContain("why");
  });

  it("a new file gets the entry of the gateway, and loses it when the servers are restored", () => {
    const replacement = plan(client, "", []);
    const after = replaceServers(client, "", replacement);
    expect(names(client, after)).toEqual(["portolan"]);
    const { text: empty } = restoreServers(client, after, "", replacement);
    expect(names(client, empty)).toEqual([]);
  });
});

describe("restoreServers", () => {
  const before = FILES.cursor;

  it("restores the blanks between the name and the value of a server", () => {
    const spaced = before.replace('"a": {', '"a":  {');
    const replacement = plan("cursor", spaced, ["a"]);
    const after = replaceServers("cursor", spaced, replacement).replace("[1,   2]", "[3]");
    expect(restoreServers("cursor", after, spaced, replacement).text).toBe(spaced.replace("[1,   2]", "[3]"));
  });

  it("keeps an entry that the user turned into another server, and a server that the user added again", () => {
    const replacement = plan("cursor", before, ["a", "b"]);
    const after = replaceServers("cursor", before, replacement);
    const other = { ...GATEWAY, endpoint: { transport: "stdio" as const, command: "other" } };
    const edited = replaceServers("cursor", after, plan("cursor", after, [], other));
    const again = replaceServers("cursor", edited, plan("cursor", edited, [], { ...other, name: "a" }));
    const done = restoreServers("cursor", again, before, replacement);
    expect(done.entry).toBe("changed");
    expect(done.kept.map(({ name }) => name)).toEqual(["a"]);
    expect(done.restored.map(({ name }) => name)).toEqual(["b"]);
    expect(names("cursor", done.text)).toEqual(["a", "b", "portolan"]);
  });

  it("restores a server that had the same name as the entry of the gateway", () => {
    const text = `{ "mcpServers": { "portolan": { "url": "http://127.0.0.1:7420/mcp" } } }`;
    const replacement = plan("cursor", text, ["portolan"]);
    const after = replaceServers("cursor", text, replacement);
    expect(after).toContain("--stdio");
    const edited = after.replace("{ ", `{ "x": 1, `);
    const done = restoreServers("cursor", edited, text, replacement);
    expect(JSON.parse(done.text)).toEqual({ x: 1, ...(JSON.parse(text) as object) });
  });

  it("removes the VS Code input of the entry, unless another server uses it", () => {
    const http: WritableServer = {
      ...GATEWAY,
      endpoint: {
        transport: "http",
        url: "http://127.0.0.1:7420/mcp",
        headers: { Authorization: `Bearer ${formatReference({ kind: "secret", name: "portolan-token" })}` },
      },
    };
    const replacement = plan("vscode", FILES.vscode, [], http);
    const after = replaceServers("vscode", FILES.vscode, replacement);
    expect(after).toContain('"id": "portolan-token"');
    expect(after).toContain("${input:portolan-token}");
    const edited = after.replace('"servers": {', '"servers": {\n    // new');
    expect(restoreServers("vscode", edited, FILES.vscode, replacement).text).not.toContain("portolan-token");
    const used = after.replace('"command": "x"', '"command": "x", "env": { "T": "${input:portolan-token}" }');
    expect(restoreServers("vscode", used, FILES.vscode, replacement).text).toContain(
      '"id": "portolan-token"',
    );
  });

  it("refuses a text that does not parse or cannot be changed in place", () => {
    const replacement = plan("cursor", before, ["a"]);
    expect(() => restoreServers("cursor", '{ "mcpServers": ', before, replacement)).toThrow(/line 1/);
    expect(() => planReplacement("cursor", "[1]", GATEWAY, [])).toThrow(/not an object/);
  });

  it("property: restores the removed servers and keeps all other changes", () => {
    const name = fc.stringMatching(/^[a-z]{1,6}$/).filter((text) => !["portolan", "extra"].includes(text));
    const servers = fc.dictionary(name, fc.record({ command: fc.constantFrom("x", "y", "a b", "$z") }));
    fc.assert(
      fc.property(servers, fc.constantFrom(0, 2), fc.boolean(), (entries, indent, all) => {
        const text = JSON.stringify({ k: 1, mcpServers: entries }, undefined, indent);
        const removed = Object.keys(entries).filter((_name, index) => all || index % 2 === 0);
        const places: EntryPlace[] = removed.map((one) => ({ container: ["mcpServers"], name: one }));
        const planned = planReplacement("cursor", text, GATEWAY, places) as Replacement;
        const after = replaceServers("cursor", text, planned);
        const edited = after.replace(/"k": ?1/, `"k": 2, "extra": true`);
        const done = restoreServers("cursor", edited, text, planned);
        expect(JSON.parse(done.text)).toEqual({ k: 2, extra: true, mcpServers: entries });
      }),
    );
  });
});
