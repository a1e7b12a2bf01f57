// The reader of server.json accepts the documents that the registry writes, with the same program and the same settings.

import { expect, test } from "vitest";
import { parsePackage } from "../../formats/package/index.ts";
import {
  fillOption,
  type InstallableOption,
  parseServerJson,
  preferredOption,
  toServerOptions,
} from "../../formats/server-json/index.ts";
import { toServerEntry } from "./server-json.ts";

const HASH = "sha256-Qw1bHtLNfhLjfW5V7HgqTB3G6HgpTbSjs8yH4rPkLJI=";

function roundTrip(source: object): InstallableOption | undefined {
  const text = JSON.stringify({
    ...{ name: "@alice/notes-mcp", type: "mcp-server", version: "1.2.0", description: "d".repeat(150) },
    author: { name: "Alice" },
    mcp: {
      ...{
        version: "2025-11-25",
        transport: ["stdio"],
        executable: "notes",
        args: ["serve", "{brace}", "--x=1"],
      },
      configuration: {
        schema: {
          type: "object",
          required: ["api_token"],
          properties: {
            api_token: { type: "string", description: "A token.", secret: true },
            mode: { type: "string", enum: ["a", "b"], default: "a" },
            retries: { type: "number", default: 3 },
            dry: { type: "boolean", default: false },
          },
        },
        env: { mode: "NOTES_MODE" },
      },
    },
    source: { size: 3, hash: HASH, ...source },
    security: { permissions: [] },
    metadata: {
      license: "MIT",
      publishedAt: "2026-01-01T00:00:00Z",
      repository: "https://github.com/alice/x",
    },
  });
  const { metadata, diagnostics } = parsePackage(text, "package.json", { mode: "strict" });
  if (metadata === undefined) throw new Error(JSON.stringify(diagnostics));
  const entry = toServerEntry(
    metadata,
    { status: "active", integrity: HASH, publishedAt: "2026-01-01T00:00:00Z" },
    true,
  );
  const read = parseServerJson(JSON.stringify(entry), "server.json");
  expect(read.diagnostics).toEqual([]);
  if (read.document === undefined) throw new Error("refused");
  expect(read.document).toMatchObject({ name: "alice/notes-mcp", version: "1.2.0" });
  return preferredOption(toServerOptions(read.document), { os: "linux", arch: "x64" });
}

test.each([
  [
    { type: "npm", url: "npm:@alice/notes@1.2.0" },
    { kind: "npm", name: "@alice/notes", version: "1.2.0" },
  ],
  [
    { type: "binary", url: "https://files.example/notes.mcpb" },
    { kind: "mcpb", source: "https://files.example/notes.mcpb", integrity: HASH },
  ],
])("reads back the server.json that the registry writes for %j", (source, expected) => {
  const option = roundTrip(source);
  expect(option).toMatchObject(expected);
  expect(option?.configuration).toEqual({
    schema: {
      type: "object",
      properties: {
        API_TOKEN: { type: "string", description: "A token.", secret: true },
        NOTES_MODE: { type: "string", enum: ["a", "b"], default: "a" },
        RETRIES: { type: "number", default: 3 },
        DRY: { type: "boolean", default: false },
      },
      required: ["API_TOKEN"],
      additionalProperties: false,
    },
    env: { API_TOKEN: "API_TOKEN", NOTES_MODE: "NOTES_MODE", RETRIES: "RETRIES", DRY: "DRY" },
  });
  expect(option && fillOption(option, { API_TOKEN: "t" })).toMatchObject({
    args: ["serve", "{brace}", "--x=1"],
    env: { API_TOKEN: "t", NOTES_MODE: "a", RETRIES: "3", DRY: "false" },
    missing: [],
  });
});
