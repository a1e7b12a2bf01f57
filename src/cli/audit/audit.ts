// `portolan audit`: integrity of packages, advisories, policy, and drift between portolan.yaml, portolan.lock, store and servers.

import { resolve } from "node:path";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { PortolanError, unknownServer } from "../../errors/index.ts";
import { lockFileOf, readLock } from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import type { RawOptions } from "../options/parse.ts";
import { notAllowed } from "../options/usage-error.ts";
import { withSpinner } from "../output/progress.ts";
import { readPackageSettings } from "../registry/settings.ts";
import { orInterrupted } from "../terminal/interrupt.ts";
import type { Paint } from "../terminal/colors.ts";
import { count, wrap } from "../terminal/layout.ts";
import { plainLine, toJsonText } from "../terminal/safe-text.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { driverServers } from "../workspace/programs.ts";
import { loadSource } from "../workspace/source.ts";
import { checkAdvisories } from "./check-advisories.ts";
import { auditLive, pinnedServers } from "./check-live.ts";
import { auditedPackages, checkLock, checkStore, packageOf } from "./check-lock.ts";
import { checkNpm } from "./check-npm.ts";
import type { Finding, FindingSeverity } from "./findings.ts";
import { toSarif } from "./sarif.ts";

export interface RawAuditOptions extends RawOptions {
  live?: boolean;
  offline?: boolean;
  strict?: boolean;
  format?: string;
  sarif?: string;
}

const FORMATS: readonly string[] = ["text", "json", "sarif"];
const ORDER: readonly FindingSeverity[] = ["error", "warning", "note"];

export function audit(cli: Cli, names: readonly string[], raw: RawAuditOptions): Promise<number> {
  const left = {
    message: "The audit did not finish, so it has no result.",
    hint: "Run the audit again: portolan audit",
  };
  return orInterrupted(
    cli,
    () => left,
    () => auditServers(cli, names, raw),
  );
}

async function auditServers(cli: Cli, names: readonly string[], raw: RawAuditOptions): Promise<number> {
  const { output, io } = cli;
  const { format } = raw;
  if (format !== undefined && !FORMATS.includes(format))
    throw new PortolanError("USAGE", notAllowed("--format", format, FORMATS));
  const settings = await readPackageSettings(cli);
  const source = await loadSource(cli);
  const { servers } = source.config;
  const unknown = names.find((name) => !servers.some(({ alias }) => alias === name));
  if (unknown !== undefined)
    throw unknownServer(
      unknown,
      servers.map(({ alias }) => alias),
    );
  const lockFile = lockFileOf(settings.folder);
  const lock = await readLock(lockFile);
  const chosen = servers.filter(({ alias }) => names.length === 0 || names.includes(alias));
  const context = { lockFile, lock, servers: chosen, isPartial: names.length > 0 };
  const coverage: Coverage = { checked: [], notChecked: [] };
  const findings = await withSpinner(cli, async (spinner) => {
    spinner.start("checking installed packages");
    const packages = auditedPackages(context);
    const found = [...checkLock(context), ...(await checkStore(packages, settings.policy))];
    for (const server of [...chosen, ...(names.length === 0 ? driverServers(source) : [])]) {
      const { alias, endpoint } = server;
      // The drivers of the contracts are checked instead.
      if (endpoint.transport === "contracts") continue;
      const result = packageOf(server) === undefined ? await checkNpm(server, servers) : [];
      if (typeof result === "string") coverage.notChecked.push({ server: alias, reason: result });
      else {
        coverage.checked.push(alias);
        found.push(...result);
      }
    }
    spinner.start("checking advisories");
    found.push(...(await checkAdvisories(cli, packages, settings, raw.offline === true)));
    return found;
  });
  const pinned = pinnedServers(context);
  if (raw.live === true) findings.push(...(await auditLive(cli, source, pinned)));
  cli.interrupt.signal.throwIfAborted();
  findings.sort(
    (a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity) || (a.server < b.server ? -1 : 1),
  );
  const sarif = (): object => toSarif(findings, { folder: settings.folder, version: io.version });
  if (raw.sarif !== undefined) {
    const path = resolve(io.cwd, raw.sarif);
    await writeAtomic(path, Buffer.from(`${toJsonText(sarif(), 2)}\n`), { mode: 0o644 }).catch(
      (cause: Error) => {
        throw new PortolanError("FILE_FAILED", `${raw.sarif} cannot be written: ${cause.message}`, { cause });
      },
    );
  }
  if (format === "sarif") output.json(sarif());
  else if (format === "json" || (format === undefined && output.form === "json"))
    output.json({ servers: coverage.checked, notChecked: coverage.notChecked, findings });
  else {
    output.print(describe(findings, coverage, cli));
    if (pinned.length > 0 && raw.live !== true)
      output.note("The tools of the servers were not compared with their pins: portolan audit --live");
  }
  const fails = findings.some(
    ({ severity }) => severity === "error" || (raw.strict === true && severity === "warning"),
  );
  return fails ? 1 : 0;
}

/** The servers whose packages were checked, and the other ones. */
interface Coverage {
  readonly checked: string[];
  readonly notChecked: { readonly server: string; readonly reason: string }[];
}

function describe(
  findings: readonly Finding[],
  { checked, notChecked }: Coverage,
  { output, io }: Cli,
): string {
  const { colors, width } = output;
  const label = pathLabeller(io);
  const paints: Readonly<Record<FindingSeverity, Paint>> = {
    error: colors.red,
    warning: colors.yellow,
    note: colors.dim,
  };
  const lines = findings.flatMap(({ severity, server, message, hint, file, line, rule }) => [
    wrap(
      `${paints[severity](severity)} ${plainLine(server, 60)}: ${plainLine(message, 1_000)} ${colors.dim(`[${rule}] ${label(file)}${line === undefined ? "" : `:${line}`}`)}`,
      width,
      2,
    ),
    ...(hint === undefined ? [] : [wrap(`  ${colors.cyan("hint")} ${plainLine(hint, 500)}`, width, 7)]),
  ]);
  const totals = ORDER.map((severity) => findings.filter((one) => one.severity === severity).length);
  const [errors = 0, warnings = 0, notes = 0] = totals;
  const summary =
    findings.length === 0
      ? "No findings."
      : `${count(errors, "error")}, ${count(warnings, "warning")} and ${count(notes, "note")}.`;
  const covered =
    checked.length === 0
      ? "No package was checked."
      : `Checked the packages of: ${checked.map((name) => plainLine(name, 60)).join(", ")}.`;
  const others = notChecked.map(({ server, reason }) =>
    wrap(`Not checked: ${plainLine(server, 60)} ${reason}.`, width, 2),
  );
  return [...lines, wrap(`${summary} ${covered}`, width, 2), ...others].join("\n");
}
