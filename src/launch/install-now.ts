// `portolan install`: installs what one server needs without starting it, and reports what changed.

import { parseIntegrity } from "../base/text/integrity.ts";
import { PortolanError } from "../errors/index.ts";
import { ensureInstalled, type Inspected, inspectPackage } from "../install/index.ts";
import { loadDocker } from "../sandbox/index.ts";
import { install } from "./launch.ts";
import { preferLocal } from "./local-program.ts";
import { discardDamaged } from "./package.ts";
import { type LaunchRequest, resolveProgram } from "./prepare.ts";
import type { LaunchPlan } from "./types.ts";

export interface InstallReport {
  readonly kind: LaunchPlan["kind"];
  /** `none`: the server is a program of this machine, so that there is nothing to install. */
  readonly state: "there" | "installed" | "mended" | "updated" | "none";
  /** Human-readable: a package with its version, a URL, an image or a path. */
  readonly source: string;
  /** The version of a package of npm. */
  readonly version?: string;
  /** The version before an update. */
  readonly before?: string;
  /** The parts of the installed package that were broken and have been replaced. */
  readonly broken?: readonly string[];
}

export interface InstallOptions {
  /** Resolves ranges and tags of packages again. An image that was pulled before is kept. */
  readonly update: boolean;
}

export async function installNow(asked: LaunchRequest, { update }: InstallOptions): Promise<InstallReport> {
  let isFetched = false;
  const onLaunch: NonNullable<LaunchRequest["onLaunch"]> = (news) => {
    if (news.type === "progress") isFetched = true;
    asked.onLaunch?.(news);
  };
  const damaged = await discardDamaged(asked);
  const { request, program: written } = await resolveProgram({ ...asked, onLaunch });
  const program = await preferLocal(written, request);
  const { server, endpoint, settings, signal, report = () => {}, package: from } = request;
  if (program.kind === "docker") {
    const { engine, image } = program;
    const { probeEngine } = await loadDocker();
    const { available, findings } = await probeEngine(engine);
    if (!available)
      throw noEngine(
        server,
        engine,
        findings.find(({ ok }) => !ok),
      );
    await install(request, program);
    return { kind: "docker", state: isFetched ? "installed" : "there", source: image };
  }
  const before =
    program.kind === "npm"
      ? await inspectPackage({ ...program, integrity: parseIntegrity(program.integrity ?? "") })
      : undefined;
  const { kind, source, own, version } = await ensureInstalled(settings, program, {
    cwd: endpoint.cwd,
    path: endpoint.env?.PATH,
    ...{ server, report, signal },
    // The lock file names an exact version.
    update: update && from === undefined,
    onProgress: (progress) => onLaunch({ type: "progress", ...progress, server }),
  });
  // The launch plan shows the hash; this report shows the version only.
  const shown = (from?.source ?? source).replace(/ \(.*\)$| sha\d+[-:]\S+$/, "");
  const facts = { kind, source: shown, version };
  if (!isFetched) return { ...facts, state: own === undefined && from === undefined ? "none" : "there" };
  if (damaged.length > 0) return { ...facts, state: "mended", broken: damaged };
  return { ...facts, ...comparedTo(before, version) };
}

function comparedTo(
  before: Inspected | undefined,
  version: string | undefined,
): Pick<InstallReport, "state" | "before" | "broken"> {
  if (before === undefined) return { state: "installed" };
  const { record, broken } = before;
  if (broken.length > 0) return { state: "mended", broken };
  return record.version === version ? { state: "there" } : { state: "updated", before: record.version };
}

function noEngine(
  server: string,
  engine: string,
  fault: { readonly detail?: string; readonly remedy?: string } | undefined,
): PortolanError {
  const why = fault?.detail === undefined ? "" : `: ${fault.detail}`;
  return new PortolanError(
    "INSTALL_FAILED",
    `The container engine ${engine} cannot be used on this machine${why}`,
    {
      server,
      hint: fault?.remedy,
    },
  );
}
