import { expect, test } from "vitest";
import { readContext } from "../known/context.ts";
import { readValue, soleVariable, type ValuePlace, writeValue } from "./interpolation.ts";
import type { ClientId } from "../types.ts";

const here = readContext("/repo/.vscode/mcp.json", { home: "/home/me", cwd: "/cwd", platform: "linux" });

test.each<[ClientId, string, string, string]>([
  // client, in the file, as a value, as an argument
  [
    "claude-code",
    "${A} ${B:-c} $D ${env:E} ${1}",
    "${A} ${B:-c} $D ${env:E} $${1}",
    "${A} ${B:-c} $D $${env:E} $${1}",
  ],
  ["claude-desktop", "${A} $B ${C:-d}", "${A} $B ${C:-d}", "$${A} $B $${C:-d}"],
  [
    "cursor",
    "${env:A} ${userHome} ${workspaceFolder}${/}x ${B}",
    "${env:A} /home/me /repo/x ${B}",
    "${env:A} /home/me /repo/x $${B}",
  ],
  [
    "windsurf",
    "${env:A} ${file:b} ${C}",
    "${env:A} ${file:/repo/.vscode/b} ${C}",
    "${env:A} ${file:/repo/.vscode/b} $${C}",
  ],
  [
    "vscode",
    "${input:a-b} ${env:C} ${workspaceFolder:main} ${cwd}",
    "${secrets.a-b} ${env:C} /repo /cwd",
    "${secrets.a-b} ${env:C} /repo /cwd",
  ],
  [
    "vscode",
    "${config:a.b} ${command:c} ${file}",
    "$${config:a.b} $${command:c} $${file}",
    "$${config:a.b} $${command:c} $${file}",
  ],
  ["gemini", "$A ${B} ${C:-d} $5 $ %E%", "${A} ${B} ${C:-d} $5 $ %E%", "${A} ${B} ${C:-d} $5 $ %E%"],
  [
    "opencode",
    "{env:A} {file:~/b} ${C} {d}",
    "${env:A} ${file:/home/me/b} ${C} {d}",
    "${env:A} ${file:/home/me/b} $${C} {d}",
  ],
  ["codex", "${A} $B", "${A} $B", "$${A} $B"],
  ["axle", "${A} ${secrets.B} $${C}", "${A} ${secrets.B} $${C}", "${A} ${secrets.B} $${C}"],
])("reads the references of %s: %s", (client, text, value, argument) => {
  const read = (place: ValuePlace): string => readValue(text, place, client, here).text;
  expect(read("value")).toBe(value);
  expect(read("argument")).toBe(argument);
});

test.each<[ClientId, string, string, string[]]>([
  [
    "claude-code",
    "${env:A} ${secrets.B} ${C:-d}",
    "${A} ${B} ${C:-d}",
    ["has no secret store: set the environment variable B for this client"],
  ],
  [
    "claude-code",
    "${file:/x}",
    "${file:/x}",
    ["does not expand ${file:/x} here, and uses it as literal text"],
  ],
  [
    "cursor",
    "${A} ${B:-c}",
    "${env:A} ${env:B}",
    ["does not support defaults: the default of B is left out"],
  ],
  ["windsurf", "${file:/x} ${A}", "${file:/x} ${env:A}", []],
  ["vscode", "${secrets.a} ${B}", "${input:a} ${env:B}", []],
  ["opencode", "${A} ${file:/x}", "{env:A} {file:/x}", []],
  ["gemini", "${A} costs $5", "${A} costs $5", []],
  ["gemini", "$HOME", "$HOME", ["would replace a part of the value that must stay as it is"]],
  ["claude-desktop", "${A}", "${A}", ["does not expand ${A} here, and uses it as literal text"]],
  ["axle", "${secrets.A} $${B}", "${secrets.A} $${B}", []],
])("writes for %s and reports what is lost: %s", (client, text, written, losses) => {
  expect(writeValue(text, "value", client)).toEqual({ text: written, losses });
});

test("finds the variable if a value is exactly one reference", () => {
  expect(soleVariable("${A}")).toEqual({ kind: "any", name: "A" });
  expect(soleVariable("Bearer ${env:A}", "Bearer ")).toEqual({ kind: "env", name: "A" });
  for (const text of ["", "a", "${A}b", "${A}${B}", "${A:-b}", "${file:/a}", "Bearer ${A}"])
    expect(soleVariable(text)).toBeUndefined();
});
