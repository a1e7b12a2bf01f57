// The program of a bundle: placeholders, platforms, settings from the environment, values that look like placeholders.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type McpbPlace, mcpbProgram, mcpbRequirements } from "./command.ts";
import { mcpbConfiguration, mcpbSettings } from "./configuration.ts";
import { type McpbManifest, parseMcpbManifest } from "./read.ts";

const PLACE: McpbPlace = { platform: "linux", folder: "/store/notes", home: "/home/alice" };

function read(server: object, settings: object = {}, more: object = {}): McpbManifest {
  const { manifest, diagnostics } = parseMcpbManifest(
    JSON.stringify({
      ...{
        manifest_version: "0.4",
        name: "notes",
        version: "1.0.0",
        description: "d",
        author: { name: "A" },
      },
      server,
      user_config: settings,
      ...more,
    }),
    "manifest.json",
  );
  if (manifest === undefined) throw new Error(JSON.stringify(diagnostics));
  return manifest;
}

const SETTINGS = {
  folders: { type: "directory", title: "t", description: "d", multiple: true, default: ["${HOME}/notes"] },
  token: { type: "string", title: "t", description: "d", sensitive: true, required: true },
  limit: { type: "number", title: "t", description: "d", min: 1, max: 10 },
  dry: { type: "boolean", title: "t", description: "d", default: false },
};

const node = (args: readonly string[], env: object = {}, more: object = {}): object => ({
  type: "node",
  entry_point: "server/index.js",
  mcp_config: { command: "node", args, env, ...more },
});

describe("placeholders of a bundle", () => {
  const manifest = read(
    node(
      ["${__dirname}/server/index.js", "${user_config.folders}", "--limit=${user_config.limit}", "${other}"],
      { TOKEN: "${user_config.token}", DRY: "${user_config.dry}", ALL: "${user_config.folders}" },
    ),
    SETTINGS,
  );

  test("are replaced with values, lists and defaults", () => {
    expect(mcpbProgram(manifest, PLACE, { token: "t", folders: ["/a", "/b"], limit: 5 })).toEqual({
      ok: true,
      program: {
        runtime: "node",
        command: "node",
        args: ["/store/notes/server/index.js", "/a", "/b", "--limit=5", "${other}"],
        env: { TOKEN: "t", DRY: "false", ALL: "/a,/b" },
        cwd: "/store/notes",
      },
    });
  });

  test("without a value remove their argument, and a default can name a folder", () => {
    const result = mcpbProgram(manifest, PLACE, { token: "t" });
    expect(result.ok && result.program.args).toEqual([
      ...["/store/notes/server/index.js", "/home/alice/notes", "${other}"],
    ]);
  });

  test("missing settings and invalid values are reported together", () => {
    const result = mcpbProgram(manifest, PLACE, { limit: 50, dry: "yes", folders: "x" });
    expect(result).toEqual({
      ok: false,
      missing: ["token"],
      problems: [
        "The setting limit is not valid: it is 50, but the largest value is 10.",
        "The setting dry is not valid: it must be a boolean.",
        "The setting token is missing.",
      ],
    });
  });

  test("an empty string counts as a missing value", () => {
    expect(mcpbProgram(manifest, PLACE, { token: "" }).ok).toBe(false);
  });

  test("a value that looks like a placeholder is not replaced again", () => {
    const dangerous = fc.constantFrom("${HOME}", "${user_config.token}", "$&", "$1", "${__dirname}", "$$");
    fc.assert(
      fc.property(fc.oneof(fc.string({ minLength: 1 }), dangerous), (value) => {
        const result = mcpbProgram(manifest, PLACE, { token: value, folders: [value] });
        expect(result.ok && result.program.env["TOKEN"]).toBe(value);
        expect(result.ok && result.program.args[1]).toBe(value);
      }),
    );
  });

  test("a text without placeholders is not changed", () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !text.includes("${") && !text.includes("\0")),
        (text) => {
          const result = mcpbProgram(read(node([text])), PLACE);
          expect(result.ok && result.program.args).toEqual([text]);
        },
      ),
    );
  });
});

describe("platforms of a bundle", () => {
  const manifest = read({
    type: "binary",
    entry_point: "bin/notes",
    mcp_config: {
      command: "bin/notes",
      args: ["${HOME}${/}x", "${DESKTOP}"],
      env: { A: "1" },
      platform_overrides: {
        win32: { command: "${__dirname}${/}bin\\notes.exe" },
        darwin: { env: { B: "2" } },
      },
    },
  });

  test.each([
    ["linux", "/store/notes/bin/notes", ["/home/alice/x", "/home/alice/Desktop"], { A: "1" }],
    ["darwin", "/store/notes/bin/notes", ["/home/alice/x", "/home/alice/Desktop"], { B: "2" }],
    ["win32", "/store/notes\\bin\\notes.exe", ["/home/alice\\x", "/home/alice\\Desktop"], { A: "1" }],
    ["constructor", "/store/notes/bin/notes", ["/home/alice/x", "/home/alice/Desktop"], { A: "1" }],
  ])("the program for %s uses the overrides and paths of the platform", (platform, command, args, env) => {
    const result = mcpbProgram(manifest, { ...PLACE, platform });
    expect(result.ok && result.program).toMatchObject({ command, args, env });
  });

  test("uv runs the entry point if the manifest has no command", () => {
    const result = mcpbProgram(read({ type: "uv", entry_point: "src/server.py" }), PLACE);
    expect(result.ok && result.program).toMatchObject({
      ...{ runtime: "uv", command: "uv", args: ["run", "--directory", "/store/notes", "src/server.py"] },
    });
  });

  test("requirements have the same form as those of a package", () => {
    const compatibility = { platforms: ["linux"], runtimes: { node: "new", python: ">=3.8,<4.0" } };
    expect(mcpbRequirements(read(node([]), {}, { compatibility }))).toEqual({
      os: ["linux"],
      runtime: { node: undefined, python: ">=3.8 <4.0" },
    });
    expect(mcpbRequirements(read(node([])))).toEqual({ os: undefined, runtime: {} });
  });
});

describe("settings of a bundle", () => {
  const manifest = read(
    node([], { NOTES_TOKEN: "${user_config.token}", LIMIT: "fixed", F: "x${user_config.folders}" }),
    { ...SETTINGS, "9lives": { type: "string", title: "t", description: "d" } },
  );

  test("have the same form as the configuration of a package", () => {
    expect(mcpbConfiguration(manifest)).toEqual({
      schema: {
        type: "object",
        properties: {
          folders: {
            type: "array",
            items: { type: "string", format: "directory" },
            title: "t",
            description: "d",
            default: ["${HOME}/notes"],
          },
          token: { type: "string", title: "t", description: "d", secret: true },
          limit: { type: "number", minimum: 1, maximum: 10, title: "t", description: "d" },
          dry: { type: "boolean", title: "t", description: "d", default: false },
          "9lives": { type: "string", title: "t", description: "d" },
        },
        required: ["token"],
        additionalProperties: false,
      },
      env: {
        // The server reads NOTES_TOKEN, and LIMIT is a variable of its own.
        ...{ token: "NOTES_TOKEN", folders: "FOLDERS", limit: "LIMIT_2", dry: "DRY" },
        "9lives": "SETTING_9LIVES",
      },
    });
    expect(mcpbConfiguration(read(node([])))).toBeUndefined();
  });

  test("are read from environment variables", () => {
    const env = { NOTES_TOKEN: "t", FOLDERS: '["/a","/b"]', LIMIT_2: "7", DRY: "true", OTHER: "x" };
    expect(mcpbSettings(manifest, env)).toEqual({
      values: { token: "t", folders: ["/a", "/b"], limit: 7, dry: true },
      problems: [],
    });
    expect(mcpbSettings(manifest, { FOLDERS: "/one", DRY: "" }).values).toEqual({ folders: ["/one"] });
  });

  test("with invalid values are reported without the value", () => {
    expect(mcpbSettings(manifest, { LIMIT_2: "4711", DRY: "maybe" }).problems).toEqual([
      "The setting limit (LIMIT_2) is out of range: the largest value is 10.",
      "The setting dry (DRY) must be a boolean.",
    ]);
    expect(mcpbSettings(manifest, { LIMIT_2: "x" }).problems).toHaveLength(1);
  });

  test("get different environment variables, for any names", () => {
    const name = fc
      .stringMatching(/^[A-Za-z0-9_.-]{1,12}$/)
      .filter((one) => !/^(constructor|__proto__|prototype)$/.test(one));
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 20 }), (names) => {
        const settings = Object.fromEntries(names.map((one) => [one, { type: "string" }]));
        const env = Object.values(mcpbConfiguration(read(node([]), settings))?.env ?? {});
        expect(new Set(env).size).toBe(names.length);
        expect(env.every((one) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(one))).toBe(true);
      }),
    );
  });
});
