// Shared error messages: their texts, and a check that no other source file words the same errors itself.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import {
  cannotListen,
  disabledHint,
  invalidArguments,
  missingSecrets,
  noServers,
  optionsError,
  packageNotFound,
  unknownPrompt,
  unknownServer,
  unknownResource,
  unknownTool,
} from "./index.ts";

const formatError = ({ code, message, hint }: { code: string; message: string; hint: string }): string =>
  `${code}: ${message} | ${hint}`;

test("the hint of a disabled server names every place that can disable it", () => {
  const hint = (format: string): string =>
    disabledHint({ alias: "files", origin: { file: "/w/x.yaml", line: 3, format } }, () => "x.yaml");
  expect(hint("workspace")).toBe(
    "If x.yaml:3 disables the server, enable it there. If portolan.yaml has the list enabled_servers, add files to this list.",
  );
  expect(hint("manifest")).toContain(
    "If the manifest or portolan.yaml has the list enabled_servers, add files",
  );
  expect(hint("manifest")).toContain("enabled: false for the whole file");
  expect(hint("program")).toContain("Your program disables this server");
  expect(hint("mcpfile")).toBe("Add files to the list enabled_servers in portolan.yaml.");
});

test("the data of an error contains the similar names", () => {
  expect(unknownServer("fils", ["files", "git"]).data).toEqual({ suggestions: ["files"] });
  expect(unknownServer("x", ["files"]).data).toEqual({});
  expect(unknownTool({ name: "raed", known: ["read", "a", "raeds", "reads", "raed_", "road"] }).data).toEqual(
    {
      suggestions: ["raed_", "raeds", "read"],
    },
  );
  expect(unknownResource({ name: "a:notse", known: ["a:notes"] }).data).toEqual({
    ...{ uri: "a:notse", suggestions: ["a:notes"] },
  });
  const kind = (): [] => [];
  const wrong = optionsError(
    "the options",
    { singal: 1, onEvents: 2, zzz: 3 },
    { signal: kind, onEvent: kind },
  );
  expect(wrong?.data).toEqual({
    problems: ['unknown key "singal"', 'unknown key "onEvents"', 'unknown key "zzz"'],
    suggestions: ["signal", "onEvent"],
  });
});

test("the functions return these messages and hints", () => {
  const busy = Object.assign(new Error("listen EADDRINUSE"), { code: "EADDRINUSE" });
  expect(
    [
      unknownServer("fils", ["files", "git"]),
      unknownServer("x", ["files", "git"]),
      unknownServer("x", []),
      unknownTool({ server: "files", name: "raed", known: ["read"] }),
      unknownTool({ server: "files", name: "xyz", known: ["read"] }),
      unknownTool({ name: "xyz", known: [] }),
      unknownTool({ server: "files", name: "read", known: [], reason: "It is left out." }),
      unknownPrompt({ server: "files", name: "xyz", known: [] }),
      unknownResource({ server: "files", name: "file:///notse", known: ["file:///notes"] }),
      invalidArguments({ tool: "add", problems: ["a is required"] }),
      invalidArguments({
        tool: "add",
        problems: ["a is required", 'b must be a number, got "x"'],
        hint: "add(a, b)",
      }),
      cannotListen("127.0.0.1", 7420, busy),
      noServers("~/project"),
    ].map(formatError),
  ).toMatchInlineSnapshot(`
    [
      "SERVER_UNKNOWN: There is no server "fils". | Did you mean "files"?",
      "SERVER_UNKNOWN: There is no server "x". | There are: files, git.",
      "SERVER_UNKNOWN: There is no server "x". | There are no servers. Add one: portolan add <name> -- <command...>",
      "TOOL_NOT_FOUND: files has no tool "raed". | Did you mean "read"?",
      "TOOL_NOT_FOUND: files has no tool "xyz". | There is: read.",
      "TOOL_NOT_FOUND: No server has a tool "xyz". | No server has any tools.",
      "TOOL_NOT_FOUND: files has no tool "read". | It is left out.",
      "PROMPT_NOT_FOUND: files has no prompt "xyz". | files has no prompts.",
      "RESOURCE_NOT_FOUND: files has no resource "file:///notse". | Did you mean "file:///notes"?",
      "INPUT_INVALID: The arguments of add are not valid: a is required | Correct the fields that the message names; the tool's inputSchema describes them.",
      "INPUT_INVALID: The arguments of add are not valid:
    - a is required
    - b must be a number, got "x" | add(a, b)",
      "CONFIG_INVALID: Cannot listen at 127.0.0.1:7420: the port is in use. | Another program uses this port. Choose another port: --port 0 chooses a free one.",
      "SERVER_UNKNOWN: There are no servers in ~/project. | In that folder, add one: portolan add <name> -- <command...>, or portolan add <name> <url>",
    ]
  `);
  expect(missingSecrets([{ name: "A", places: ["env.A"] }])).toEqual({
    message: "A secret is missing: A (for env.A).",
    hint: "Set it: portolan secrets set A, or define it in the environment of Portolan.",
  });
  expect(
    missingSecrets([{ name: "A" }, { name: "B", step: "define B in the environment of Portolan" }]),
  ).toEqual({
    message: "Secrets are missing: A; B.",
    hint: "Set them: portolan secrets set A; define B in the environment of Portolan.",
  });
  expect(packageNotFound("x@1", "npm's registry").message).toBe(
    "The package x@1 was not found in npm's registry",
  );
});

/** Code that throws such an error itself would use a different text for it. */
test("no other source file contains its own text for an unknown tool, invalid arguments, or a port in use", () => {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && file !== join("errors", "wordings.ts"),
  );
  const own = [
    /new PortolanError\(\s*"(?:TOOL|PROMPT)_NOT_FOUND",\s*`\$\{[^}]*\} has no (?:tool|prompt)/,
    /`(?:The gateway|There is|\$\{[^}]*\}) (?:has )?no server \$\{/,
    /there is no server "\$\{/,
    /[Cc]annot listen at/,
    /are not valid:\\n/,
  ];
  const found = files.flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return own.filter((one) => one.test(text)).map((one) => `${file}: ${one.source}`);
  });
  expect(found).toEqual([]);
});

test("inside a program, the hint of a port in use names settings instead of command-line options", () => {
  const error = cannotListen("127.0.0.1", 80, { code: "EADDRINUSE" } as NodeJS.ErrnoException, {
    inProgram: true,
  });
  expect(error.hint).toContain("settings.port: 0 chooses a free one");
});
