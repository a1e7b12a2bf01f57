// Every key of a server config with every kind of value: a diagnostic with line and column, or a valid config.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseConfigFile } from "../../src/catalog/formats.ts";
import type { Diagnostic } from "../../src/errors/index.ts";
import { parseDriver } from "../../src/formats/driver/index.ts";
import { validateSandbox } from "../../src/sandbox/validate-config.ts";
import type { ServerConfig, SandboxConfig } from "../../src/model/index.ts";

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const SANDBOX = {
  mode: "enforce",
  backend: "bubblewrap",
  network: { egress: ["a.example"] },
  fs: { read: ["./a"], write: ["/b"], deny: ["~/c"] },
  env: { pass: ["A"], set: { B: "c" } },
  exec: { allow: ["git"], spawn: true },
  home: "kept",
  limits: { memory: "1GB", processes: 9, open_files: 9, cpu: "9s", file_size: "1GB", niceness: 1 },
  path_arguments: { "*": ["path"] },
};
const INSTALL: Json = [
  { method: "npm", package: "a", global: false },
  { method: "pip", package: "a", user: true },
  { method: "curl", url: "https://a.example/b", verify_sha256: "a".repeat(64) },
  { method: "download", url: "https://a.example/b", extract_bin: "b", verify_sha256: "a".repeat(64) },
  { method: "vendored", path: "./a" },
];
const LAUNCH = {
  install: INSTALL,
  version_check: { cmd: "a --version", parse: "v(.*)", range: "^1", timeout: "1s" },
  requires: { os: ["linux"], arch: ["x64"] },
};
const { mode: _mode, backend: _backend, network: _network, ...OF_A_DRIVER } = SANDBOX;
const SERVER = { transport: "stdio", command: "a", sandbox: SANDBOX, ...LAUNCH };

interface Format {
  readonly name: string;
  readonly file: string;
  readonly whole: (part: Json) => string;
  /** The part of the config in which the tests put wrong values. */
  readonly part: Json;
}

const tool = (cli: Json): Json => ({
  ...{ name: "t", description: "A tool.", inputSchema: { type: "object" }, invocation: { cli } },
});
const mcpfile = (fields: object): string =>
  JSON.stringify({
    ...{ kind: "MCPToolDefinitions", schemaVersion: "0.2.0", name: "m", version: "1.0.0", ...fields },
  });

const FORMATS: readonly Format[] = [
  {
    name: "portolan.yaml",
    file: "/w/portolan.yaml",
    part: SERVER,
    whole: (part) => JSON.stringify({ servers: { a: part, other: { command: "b" } } }),
  },
  {
    name: "a bridge manifest",
    file: "/w/manifest.yaml",
    part: { alias: "a", ...SERVER },
    whole: (part) =>
      JSON.stringify({ config: { servers: [part, { alias: "other", transport: "stdio", command: "b" }] } }),
  },
  {
    name: "an mcpfile",
    file: "/w/mcpfile.yaml",
    part: SANDBOX,
    whole: (part) => mcpfile({ sandbox: part, tools: [tool({ command: "a" })] }),
  },
  {
    name: "a command of an mcpfile",
    file: "/w/mcpfile.yaml",
    part: { command: "a", sandbox: SANDBOX },
    whole: (part) => mcpfile({ sandbox: SANDBOX, tools: [tool(part)] }),
  },
  {
    name: "a DRIVER.md",
    file: "/w/.drivers/demo/DRIVER.md",
    part: {
      ...{ network: { egress: ["a.example"] }, install: INSTALL },
      version_check: { cmd: "a", parse: "v(a)", range: ">=0.5", timeout_ms: 500 },
      requires: { os: ["linux"], arch: ["x64"], min_disk_mb: 1 },
      sandbox: OF_A_DRIVER,
    },
    whole: (part) =>
      `---\n${JSON.stringify({
        ...{ name: "Demo", id: "demo", description: "A demo.", version: "1.0.0", kind: "mcp" },
        ...{ server: { kind: "npm", package: "a" }, transport: "stdio", ...(part as object) },
        implements: [{ tool: "t", version: "^1", metadata: { mcp: { tool_name: "t" } } }],
      })}\n---\n`,
  },
];

/** One value of each kind, for every key. */
const KINDS: readonly Json[] = [null, true, 5, "banana", [null], ["a.b"], {}, { a: null }];
const ODD: readonly Json[] = [
  ...[null, true, false, 0, -1, 5, 1.5, 1e300, "", " ", "*", "banana", "a | b", "'", "~", "${X}", "\u0000"],
  ...[[], [null], [5], ["a.b"], [[]], [{}], {}, { egress: null }, { egress: "*" }, { egress: 5 }],
  ...[{ egress: {} }, { ingress: ["a.b"] }, { a: null }, { a: { b: 1 } }, { toString: "x" }],
];

type Path = readonly (string | number)[];

function pathsOf(value: Json, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, one]) => pathsOf(one, [...path, key]))];
}

function replaced(value: Json, [step, ...rest]: Path, odd: Json): Json {
  if (step === undefined || typeof value !== "object" || value === null) return odd;
  const copy: Record<string, Json> = { ...(value as Record<string, Json>) };
  copy[step] = replaced(copy[step] ?? null, rest, odd);
  return Array.isArray(value) ? Object.values(copy) : copy;
}

async function read(format: Format, text: string): Promise<[readonly Diagnostic[], SandboxConfig[]]> {
  if (format.file.endsWith("DRIVER.md")) {
    const { driver, diagnostics } = parseDriver(text, format.file);
    return [diagnostics, driver?.launch.sandbox === undefined ? [] : [driver.launch.sandbox]];
  }
  const parsed = await parseConfigFile(text, format.file);
  const ofCommands = ({ endpoint }: ServerConfig): (SandboxConfig | undefined)[] =>
    endpoint.transport === "invoke"
      ? endpoint.server.tools.map(({ invocation }) =>
          invocation.kind === "cli" ? invocation.sandbox : undefined,
        )
      : [];
  const sandboxes = (parsed?.servers ?? []).flatMap((one) => [one.launch?.sandbox, ...ofCommands(one)]);
  if (format.name !== "an mcpfile" && format.name !== "a command of an mcpfile")
    expect(parsed?.servers.map(({ alias }) => alias)).toContain("other");
  return [parsed?.diagnostics ?? [], sandboxes.filter((one) => one !== undefined)];
}

async function isUnderstood(format: Format, part: Json): Promise<void> {
  const [diagnostics, sandboxes] = await read(format, format.whole(part));
  const unplaced = diagnostics.filter(
    ({ line = 0, column = 0, message, hint }) => line < 1 || column < 1 || message === "" || hint === "",
  );
  expect(unplaced).toEqual([]);
  // An accepted sandbox must also be valid for the start.
  for (const sandbox of sandboxes) validateSandbox(sandbox, "a");
}

describe.each(FORMATS)("$name", (format) => {
  test("is valid without changes", async () => {
    const [diagnostics, sandboxes] = await read(format, format.whole(format.part));
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(sandboxes).not.toEqual([]);
  });

  test("gives a diagnostic with a place, or a valid sandbox, for one wrong value anywhere", async () => {
    for (const path of pathsOf(format.part))
      for (const odd of KINDS)
        await isUnderstood(format, replaced(format.part, path, odd)).catch((error: unknown) => {
          throw new Error(`${path.join(".")}: ${JSON.stringify(odd)}`, { cause: error });
        });
  });

  test("gives a diagnostic with a place, or a valid sandbox, for several wrong values", async () => {
    const change = fc.tuple(
      fc.constantFrom(...pathsOf(format.part)),
      fc.oneof(fc.constantFrom(...ODD), fc.jsonValue({ maxDepth: 2 })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 2, maxLength: 4 }), (changes) =>
        isUnderstood(
          format,
          changes.reduce((part, [path, odd]) => replaced(part, path, odd as Json), format.part),
        ),
      ),
      { numRuns: 150 },
    );
  });
});

test.each(["{egress: }", "{}", "{egress: []}", "[]"])("network: %s allows no host", async (network) => {
  const text = `servers:\n  a:\n    command: x\n    sandbox: { network: ${network} }\n`;
  const parsed = await parseConfigFile(text, "/w/portolan.yaml");
  expect(parsed?.diagnostics).toEqual([]);
  expect(parsed?.servers[0]?.launch?.sandbox).toEqual({ network: [] });
});

test.each([
  ['{egress: "*"}', "sandbox.network.egress must be a list, not text", 34],
  ["{egress: 5}", "sandbox.network.egress must be a list, not the number 5", 34],
  ["{ingress: [a.b]}", 'unknown key "ingress" in servers.a.sandbox.network', 26],
  ["5", "network must be a list or an object with keys", 25],
])("network: %s is an error with its line and column", async (network, message, column) => {
  const text = `servers:\n  a:\n    command: x\n    sandbox: { network: ${network} }\n  b: { command: y }\n`;
  const parsed = await parseConfigFile(text, "/w/portolan.yaml");
  expect(parsed?.diagnostics).toMatchObject([{ code: "FILE_INVALID", line: 4, column }]);
  expect(parsed?.diagnostics[0]?.message).toContain(message);
  expect(parsed?.servers.map(({ alias }) => alias)).toEqual(["b"]);
});
