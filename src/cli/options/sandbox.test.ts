// The sandbox options of a command, and the options that a workspace refuses.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { targetServer, toConfig } from "../target/server-config.ts";
import type { Target } from "../target/target.ts";
import type { Source } from "../workspace/source.ts";
import { parseServerOptions, type RawOptions } from "./parse.ts";
import { sandboxOfCommand, workspaceSandbox } from "./sandbox.ts";

const folder = mkdtempSync(join(tmpdir(), "portolan-sandbox-options-"));
writeFileSync(join(folder, "a.txt"), "");

const COMMAND: Target = { kind: "command", command: "x", args: [], label: "x" };
const URL_TARGET: Target = { kind: "url", transport: "http", url: "https://a.com/", label: "a.com" };

function ofCommand(raw: RawOptions) {
  const problems: string[] = [];
  const sandbox = sandboxOfCommand(parseServerOptions(raw, {}).sandbox, folder, problems);
  return { sandbox, problems };
}

test("without sandbox options, the config has no sandbox", () => {
  expect(ofCommand({})).toEqual({ sandbox: undefined, problems: [] });
  expect(targetServer(COMMAND, parseServerOptions({}, {}), folder).launch).toEqual({ cwdImplied: true });
});

test("sandbox options become the sandbox of the config", () => {
  const raw: RawOptions = {
    sandbox: ["warn"],
    allowNet: ["API.example.com", "*.b.com", "c.com:22"],
    allowRead: ["a.txt"],
    allowWrite: ["."],
  };
  const sandbox = {
    mode: "warn",
    network: ["api.example.com", "*.b.com", "c.com:22"],
    fs: { read: [join(folder, "a.txt")], write: [folder] },
  };
  expect(ofCommand(raw)).toEqual({ sandbox, problems: [] });
  const options = parseServerOptions({ ...raw, cwd: "." }, {});
  const given = { handlers: {}, signal: new AbortController().signal, onDiagnostic: () => {} };
  expect(toConfig(COMMAND, options, folder, given)).toMatchObject({ sandbox });
  expect(targetServer(COMMAND, options, folder).launch).toEqual({ sandbox });
});

test.each<[RawOptions, string[]]>([
  [{ sandbox: ["of"] }, ['--sandbox must be enforce, warn or off, not "of". Did you mean "off"?']],
  [{ sandbox: ["=off"] }, ['--sandbox "=off" names no server before =']],
  [{ sandbox: ["files=on"] }, ['--sandbox must be enforce, warn or off, not "on".']],
  [{ sandbox: ["off", "warn"] }, ["--sandbox is given as both off and warn"]],
  [{ sandbox: ["a=off", "a=warn"] }, ["--sandbox is given as both off and warn for a"]],
  [{ sandbox: ["x"], era: "y" }, ["--era must be", "--sandbox must be"]],
])("parseServerOptions refuses %j", (raw, messages) => {
  expect(() => parseServerOptions(raw, {})).toThrow();
  try {
    parseServerOptions(raw, {});
  } catch (error) {
    const { problems } = (error as { data: { problems: string[] } }).data;
    expect(problems).toHaveLength(messages.length);
    messages.forEach((message, index) => expect(problems[index]).toContain(message));
  }
});

test("one error names all options that do not fit a command or a URL", () => {
  const wrong = {
    sandbox: ["files=off"],
    allowNet: ["https://a.com"],
    allowRead: ["none"],
    allowWrite: ["none"],
  };
  expect(ofCommand(wrong).problems).toEqual([
    "--sandbox files=off is only for servers of the workspace. For this command, write --sandbox off",
    '--allow-net "https://a.com": It is a URL. Write a.com.',
    "--allow-read none does not exist",
    "--allow-write none does not exist",
  ]);
  const options = parseServerOptions({ sandbox: ["off"], allowNet: ["a.com"] }, {});
  expect(() => targetServer(URL_TARGET, options, folder)).toThrow(
    "--sandbox is only for commands. A server behind a URL does not run on this machine\n--allow-net is only for commands",
  );
});

const source = { config: { servers: [{ alias: "files" }] } } as unknown as Source;
const modes = (raw: RawOptions) => workspaceSandbox(parseServerOptions(raw, {}).sandbox, source);

test("for a workspace, --sandbox must name a server, and --allow-* options are refused", () => {
  expect(modes({})).toBeUndefined();
  expect(modes({ sandbox: ["files=off"] })).toEqual({ files: "off" });
  expect(() => modes({ sandbox: ["off"] })).toThrow(
    "--sandbox off does not name a server; write --sandbox <server>=off",
  );
  expect(() => modes({ sandbox: ["file=off"] })).toThrow('There is no server "file".');
  expect(() => modes({ allowNet: ["a.com"], allowRead: ["."] })).toThrow(
    "--allow-net works only with a command, or with one server that is a program on this machine. To grant the access permanently: portolan grant <server> --net <host>\n--allow-read works",
  );
});
