// The sandbox of a server in a config file: the notations that are read, and the errors.

import { resolve } from "node:path";
import { expect, test } from "vitest";
import { parseWorkspace } from "../workspace/index.ts";
import { parseManifest } from "./read.ts";

const FILE = "/project/portolan.yaml";

function sandboxOf(yaml: string) {
  const text = `servers:\n  a:\n    command: x\n    sandbox:${yaml.startsWith("\n") ? yaml : ` ${yaml}`}\n`;
  const { servers, diagnostics } = parseWorkspace(text, FILE);
  return {
    sandbox: servers[0]?.launch?.sandbox,
    problems: diagnostics
      .filter(({ severity }) => severity !== "info")
      .map(({ line, column, message, hint }) => ({ line, column, message, hint })),
    notes: diagnostics.filter(({ severity }) => severity === "info").map(({ message }) => message),
  };
}

test.each<[string, string]>([
  ["off", "off"],
  ["warn", "warn"],
  ["enforce", "enforce"],
  ["'off'", "off"],
  ["false", "off"],
  ["true", "enforce"],
  ["{ mode: off }", "off"],
  ["{ mode: false }", "off"],
])("sandbox: %s is read as the mode %s", (written, mode) => {
  const { sandbox, problems, notes } = sandboxOf(written);
  expect(sandbox).toEqual({ mode });
  expect(problems).toEqual([]);
  expect(notes.join("\n")).toContain(
    { off: "sandbox is off", warn: "sandbox: warn starts", enforce: "" }[mode],
  );
});

test("reads every key of a sandbox", () => {
  const { sandbox, problems } = sandboxOf(`
      mode: enforce
      backend: bwrap
      network: [API.example.com, "*.example.com", "db.internal:5432"]
      fs: { read: [./data, /srv/shared/], write: [~/notes], deny: [data/private] }
      env: { pass: [LANG, HTTP_TIMEOUT], set: { NAME: value, LEVEL: 3 } }
      exec: { allow: [git, ./bin/tool], spawn: false }
      home: kept
      limits: { memory: 512MB, processes: 64, open_files: 256, cpu: 1500ms, file_size: 1MiB, niceness: 10 }
      path_arguments: { read_file: [path], "*": [uri] }`);
  expect(problems).toEqual([]);
  expect(sandbox).toEqual({
    mode: "enforce",
    backend: "bubblewrap",
    network: ["api.example.com", "*.example.com", "db.internal:5432"],
    fs: { read: ["/project/data", "/srv/shared"], write: ["~/notes"], deny: ["/project/data/private"] },
    env: { pass: ["LANG", "HTTP_TIMEOUT"], set: { NAME: "value", LEVEL: "3" } },
    exec: { allow: ["git", "/project/bin/tool"], spawn: false },
    home: "kept",
    limits: {
      memoryBytes: 512_000_000,
      processes: 64,
      openFiles: 256,
      cpuSeconds: 2,
      fileBytes: 1_048_576,
      niceness: 10,
    },
    pathArguments: { read_file: ["path"], "*": ["uri"] },
  });
});

test("reads hosts also under network.egress, and an empty list as no network access", () => {
  expect(sandboxOf("{ network: { egress: [a.com] } }").sandbox).toEqual({ network: ["a.com"] });
  expect(sandboxOf("{ network: [] }").sandbox).toEqual({ network: [] });
  expect(sandboxOf("{ network: { egress: [] } }").sandbox).toEqual({ network: [] });
  expect(sandboxOf("{}").sandbox).toEqual({});
});

test("accepts keys in camel case", () => {
  expect(sandboxOf("{ limits: { openFiles: 9, fileSize: 1KB }, pathArguments: { t: [p] } }").sandbox).toEqual(
    {
      limits: { openFiles: 9, fileBytes: 1_000 },
      pathArguments: { t: ["p"] },
    },
  );
});

test.each<[string, string, string, string]>([
  ["enforced", "4:14", 'servers.a.sandbox cannot be "enforced"', 'Did you mean "enforce"?'],
  ["3", "4:14", "servers.a.sandbox must be", ""],
  ["{ modes: off }", "4:16", 'unknown key "modes" in servers.a.sandbox', 'Did you mean "mode"?'],
  ["{ backend: podman }", "4:25", 'servers.a.sandbox.backend cannot be "podman"', "Write one of"],
  ["{ network: [https://a.com/x] }", "4:26", '"https://a.com/x" is not a host: it is a URL', "Write a.com."],
  ["{ network: { egress: ['*a.com'] } }", "4:36", '"*a.com" is not a host', "api.example.com"],
  ["{ network: a.com }", "4:25", "servers.a.sandbox.network must be a list", ""],
  ["{ fs: { read: ['${HOME}/x'] } }", "4:29", '"${HOME}/x" contains a reference', "~/ is your home folder"],
  ["{ fs: { read: [./data/**] } }", "4:29", '"./data/**" is a pattern', "Name the folder itself: ./data."],
  ["{ fs: { write: [~root/x] } }", "4:30", '"~root/x" is in the home folder of another user', "full path"],
  ["{ fs: { write: [~/../x] } }", "4:30", '"~/../x" is outside of your home folder', "full path"],
  ["{ env: { pass: [A=b] } }", "4:30", '"A=b" is not the name of a variable', "use set"],
  ["{ env: { set: { T: '${TOKEN}' } } }", "4:33", "T in env.set contains a reference", "env of the server"],
  ["{ exec: { allow: [git log] } }", "4:32", '"git log" is not a program', "without arguments"],
  ["{ home: mine }", "4:22", 'servers.a.sandbox.home cannot be "mine"', "private, kept"],
  ["{ limits: { memory: much } }", "4:34", "servers.a.sandbox.limits.memory must be a size", "KiB"],
  ["{ limits: { processes: 0 } }", "4:37", "must be a whole number of at least 1", ""],
  ["{ limits: { niceness: 20 } }", "4:36", "must be a whole number from 0 to 19", ""],
])("refuses sandbox: %s", (written, place, message, hint) => {
  const { sandbox, problems } = sandboxOf(written);
  expect(sandbox).toBeUndefined();
  expect(problems).toHaveLength(1);
  expect(problems[0]?.message).toContain(message);
  expect(problems[0]?.hint ?? "").toContain(hint);
  expect(`${problems[0]?.line}:${problems[0]?.column}`).toBe(place);
});

test("reports all problems of a sandbox at once", () => {
  const { problems } = sandboxOf("{ mode: on, network: ['a b'], fs: { deny: ['*'] }, limits: { cpu: x } }");
  expect(problems).toHaveLength(4);
});

test("paths are relative to the manifest, or to the parent of a hidden folder that contains the manifest", () => {
  const text =
    "config:\n  servers:\n    - { alias: a, transport: stdio, command: x, sandbox: { fs: { read: [d] } } }\n";
  const read = (file: string) => parseManifest(text, file).servers[0]?.launch?.sandbox?.fs?.read;
  expect(read("/project/x/manifest.yaml")).toEqual(["/project/x/d"]);
  expect(read("/project/.mcp/manifest.yaml")).toEqual(["/project/d"]);
  expect(read("manifest.yaml")).toEqual([resolve("d")]);
});

test("refuses sandbox rules for a remote server, because Portolan cannot enforce them", () => {
  const read = (sandbox: string) =>
    parseWorkspace(`servers:\n  a: { url: https://a.com, sandbox: ${sandbox} }\n  b: { command: x }\n`, FILE);
  for (const sandbox of ["enforce", "{ network: [b.com], fs: { read: [/a] } }", "true"]) {
    const { servers, diagnostics } = read(sandbox);
    expect(servers.map(({ alias }) => alias)).toEqual(["b"]);
    expect(diagnostics).toMatchObject([
      { severity: "error", line: 2, hint: expect.stringMatching(/^Remove sandbox\./) as string },
    ]);
  }
  expect(read("{ network: [b.com], fs: { read: [/a] } }").diagnostics[0]?.message).toBe(
    "sandbox.network, sandbox.fs cannot be enforced: a server with transport streamable-http runs elsewhere",
  );
  for (const sandbox of ["off", "false", "warn", "{ mode: warn, network: [b.com] }"]) {
    const { servers, diagnostics } = read(sandbox);
    expect(servers).toHaveLength(2);
    expect(diagnostics.map(({ severity }) => severity)).toEqual(["warning"]);
  }
});

test("warns that sandbox and requires have no effect for a remote server", () => {
  const { servers, diagnostics } = parseWorkspace(
    "servers:\n  a: { url: https://a.com, sandbox: off, requires: { os: [linux] } }\n",
    FILE,
  );
  expect(servers).toHaveLength(1);
  expect(diagnostics.map(({ severity, message }) => `${severity}: ${message}`)).toEqual([
    "warning: sandbox has no effect with transport streamable-http",
    "warning: requires has no effect with transport streamable-http",
  ]);
});
