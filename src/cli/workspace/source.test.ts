// `status` and `validate` find the same config files, and an output shows a file by one name.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadCatalog, validateFiles } from "../../catalog/index.ts";
import { importClients } from "../../formats/clients/index.ts";
import type { Cli } from "../context.ts";
import { configError, describeDiagnostic } from "../output/diagnostic.ts";
import { createColors } from "../terminal/colors.ts";
import { clientFiles, loadSource } from "./source.ts";

function folderWith(files: Readonly<Record<string, string>>): { folder: string; cli: Cli } {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "portolan-source-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [folder, home] = [join(base, "project"), join(base, "home")];
  for (const one of [folder, home]) mkdirSync(one);
  for (const [name, text] of Object.entries(files)) {
    const file = name.startsWith("~/") ? join(home, name.slice(2)) : join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const findAllGateways = async (): Promise<readonly []> => [];
  const io = {
    ...{ cwd: folder, env: { HOME: home }, platform: "linux" },
    ...{ loadCatalog, importClients, findAllGateways },
  };
  return { folder, cli: { io, options: {} } as unknown as Cli };
}

const PLAIN = '{"mcpServers": {"a": {"command": "x"}}}';

test.each<[string, string]>([
  ["portolan.yaml", "servers: {a: {command: x}}"],
  ["manifest.yaml", "config: {servers: [{alias: a, transport: stdio, command: x}]}"],
  [".mcp.json", PLAIN],
  ["mcp.json", PLAIN],
  [".cursor/mcp.json", PLAIN],
  [".vscode/mcp.json", '{"servers": {"a": {"command": "x"}}}'],
  [".codex/config.toml", '[mcp_servers.a]\ncommand = "x"\n'],
  [".gemini/settings.json", PLAIN],
  ["opencode.json", '{"mcp": {"a": {"type": "local", "command": ["x"]}}}'],
  ["~/.cursor/mcp.json", PLAIN],
])("status and validate both find %s", async (name, text) => {
  const { folder, cli } = folderWith({ [name]: text });
  const { env } = cli.io;
  const validation = await validateFiles([folder], {
    home: env["HOME"],
    clientFiles: (one) => clientFiles(cli, one),
  });
  const { files } = await loadSource(cli);
  expect(files).toHaveLength(1);
  expect(validation.files.map(({ file }) => file)).toEqual(files.map(({ file }) => file));
  expect(validation).toMatchObject({ valid: true, workspaces: [{ servers: [{ alias: "a" }] }] });
});

test("validate reports a client's file that cannot be read, in a folder without config files", async () => {
  const { folder, cli } = folderWith({ ".codex/config.toml": "[mcp_servers" });
  const file = join(folder, ".codex/config.toml");
  expect(await validateFiles([folder], { clientFiles: (one) => clientFiles(cli, one) })).toMatchObject({
    valid: false,
    files: [{ file, valid: false }],
    diagnostics: [{ severity: "error", file, line: 1 }],
  });
});

test("a message shows a file by the same name as the position before it", async () => {
  const { folder, cli } = folderWith({});
  const file = join(folder, "x.yaml");
  const finding = {
    ...({ code: "FILE_FAILED", severity: "error", file } as const),
    message: `${file} is not there, unlike ${file}.bak/y and ${folder}/x.yaml/z`,
    hint: `Create ${file}.`,
  };
  const label = (): string => "x.yaml";
  expect(describeDiagnostic(finding, { colors: createColors(false), width: undefined, label })).toBe(
    `x.yaml error x.yaml is not there, unlike ${file}.bak/y and ${folder}/x.yaml/z\n  hint Create x.yaml.`,
  );
  expect(configError([finding], cli).message).toMatch(/^x\.yaml x\.yaml is not there/);
});
