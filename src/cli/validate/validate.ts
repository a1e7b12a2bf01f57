// `portolan validate`: checks config files of any format.

import { parseMcpfile } from "../../formats/mcpfile/index.ts";
import { describeRights, type GatewaySettings } from "../../model/index.ts";
import { resolve } from "node:path";
import { type CatalogFile, validateFiles, type Validation } from "../../catalog/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import { parseDriver, parseSecrets, parseSkill, parseTool } from "../../formats/driver/index.ts";
import { parsePackage } from "../../formats/package/index.ts";
import type { Cli, CliIo } from "../context.ts";
import { describeDiagnostic, readTexts } from "../output/diagnostic.ts";
import { count } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { computerOf, pathLabel, workspaceFolder } from "../workspace/folder.ts";
import { clientFiles } from "../workspace/source.ts";

export async function validate(cli: Cli, paths: readonly string[]): Promise<number> {
  const { io, output, options } = cli;
  const { workspace } = options;
  const computer = computerOf(io, io.cwd);
  const wanted =
    paths.length === 0 ? [workspaceFolder(io, { workspace })] : paths.map((path) => resolve(io.cwd, path));
  const checked = await validateFiles(wanted, {
    home: computer.home,
    clientFiles: (folder) => clientFiles(cli, folder),
    packagedDrivers: async (...args) =>
      (await import("../../packages/index.ts")).findPackagedDrivers(...args),
  });
  const more = [...(await bindingProblems(checked)), ...(await startProblems(checked, io))];
  const wrong = new Set(more.flatMap(({ severity, file }) => (severity === "error" ? [file] : [])));
  const valid = checked.valid && wrong.size === 0;
  const files = checked.files.map((one) => ({ ...one, valid: one.valid && !wrong.has(one.file) }));
  const diagnostics = [...checked.diagnostics, ...more];
  if (output.form === "json") {
    output.json({ valid, files, diagnostics });
    return valid ? 0 : 1;
  }
  const label = (file: string): string => (file === io.cwd ? "." : pathLabel(file, computer));
  const { colors, width } = output;
  const textOf = readTexts();
  const parts = diagnostics.map((diagnostic) =>
    describeDiagnostic(diagnostic, { colors, width, label, textOf }),
  );
  const summary = files.map((file) => {
    const mark = file.valid ? colors.green("valid") : colors.red("not valid");
    return `${label(file.file)} ${colors.dim(`(${plainLine(fileLabel(file, textOf(file.file)), 200)})`)} ${mark}`;
  });
  output.print([...parts, ...(summary.length === 0 ? [] : [summary.join("\n")])].join("\n\n"));
  return valid ? 0 : 1;
}

/** Diagnostics about drivers and their contracts that need no running server. */
async function bindingProblems({ bind }: Validation): Promise<readonly Diagnostic[]> {
  if (bind.every(({ drivers, contracts }) => drivers.length + contracts.length === 0)) return [];
  const { checkDriver, checkWorkspace } = await import("../../contracts/index.ts");
  return bind.flatMap(({ drivers, contracts, around, only, root, isWhole }) => {
    const bindings = drivers.flatMap(
      ({ driver }) => checkDriver(driver, contracts, undefined, { root, partial: !isWhole }).diagnostics,
    );
    // Outside of a workspace, the owners of names may be in other folders.
    if (!isWhole) return bindings;
    const all = around.drivers.map(({ driver }) => driver);
    const names = checkWorkspace({ ...around, drivers: all, contracts, root });
    return [...bindings, ...names.filter(({ file }) => only === undefined || only.includes(file ?? ""))];
  });
}

/** Diagnostics that a start would report, as far as the files show them. Starts no server. */
async function startProblems({ workspaces }: Validation, io: CliIo): Promise<readonly Diagnostic[]> {
  const all = workspaces.filter(({ servers, settings }) => servers.length > 0 || settings !== undefined);
  if (all.length === 0) return [];
  const { checkHiddenPaths, checkProgramFolder } = await import("../../launch/index.ts");
  const { checkStart, checkWorkspaceFiles } = await import("../../sandbox/index.ts");
  const found = await Promise.all(
    all.map(async ({ folder, servers, settings = {} }) => {
      const writers = { servers, roots: [] };
      const { envFile, gateway } = settings;
      const tokens = gateway?.callers?.flatMap(({ token }) => token ?? []) ?? [];
      return Promise.all([
        checkWorkspaceFiles({ folder, envFile, tokens }, writers),
        gateway === undefined ? [] : gatewayProblems(gateway, { folder, envFile, io }),
        ...servers.map((server) => checkStart(server, writers)),
        ...servers.map((server) => checkHiddenPaths(server, folder)),
        ...servers.map((server) => checkProgramFolder(server, folder)),
      ]);
    }),
  );
  return found.flat(2);
}

/** Warnings, because the computer of the gateway can have other files and secrets. */
async function gatewayProblems(
  gateway: GatewaySettings,
  { folder, envFile, io }: { readonly folder: string; readonly envFile?: string; readonly io: CliIo },
): Promise<Diagnostic[]> {
  const { checkReferences, checkTls } = await import("../../gateway/index.ts");
  const { createSecretStore } = await import("../../secrets/index.ts");
  const store = createSecretStore({ env: io.env, envFile, report: () => {} });
  const found = await Promise.all([checkTls(gateway.tls), checkReferences(gateway, { store, folder })]);
  return found.flat();
}

/** `manifest, 2 servers`, `driver filesystem-mcp@1.0.0, for fs-read` */
function fileLabel({ file, format, aliases }: CatalogFile, text: string | undefined): string {
  switch (format) {
    case "driver": {
      const { driver } = parseDriver(text ?? "", file);
      if (driver === undefined) return "driver";
      const served = driver.implements.map(({ tool }) =>
        tool.replace(/\/TOOL\.md$/, "").replace(/^.*\//, ""),
      );
      return `driver ${driver.id}@${driver.version}, for ${served.join(", ")}`;
    }
    case "tool": {
      const { contract } = parseTool(text ?? "", file);
      if (contract === undefined) return "contract";
      const examples =
        contract.examples.length === 0 ? "" : `, ${count(contract.examples.length, "example")}`;
      return `contract ${contract.id}@${contract.version}${examples}`;
    }
    case "secrets":
      return `secrets, ${count(parseSecrets(text ?? "", file).secrets.length, "entry").replace(/entrys$/, "entries")}`;
    case "skill": {
      const { skill } = parseSkill(text ?? "", file);
      return skill === undefined ? "skill" : `skill ${skill.name}`;
    }
    case "package": {
      const { draft } = parsePackage(text ?? "", file, { mode: "draft" });
      return draft.name === undefined ? "package" : `package ${draft.name}@${draft.version ?? ""}`;
    }
    case "mcpfile": {
      const rights = describeRights(parseMcpfile(text ?? "", file).servers);
      return `${format}, ${count(aliases.length, "server")}${rights === undefined ? "" : `, ${rights}`}`;
    }
    default:
      return `${format}, ${count(aliases.length, "server")}`;
  }
}
