// `reload()` of a gateway: reads config files, settings, certificates and secrets again, and says what has changed.

import { join } from "node:path";
import { type FileChange, OWN_NAMES } from "../catalog/index.ts";
import { type Diagnostic, hintedMessage, locatedMessage, toPortolanError } from "../errors/index.ts";
import type { OpenedWorkspace } from "../hub/index.ts";
import type { SettingsInUse } from "./settings-in-use.ts";

export interface ReloadOutcome {
  /** False if the gateway does not serve config files. */
  readonly hasFiles: boolean;
  /** Errors, because of which the earlier config stays in use. */
  readonly problems: readonly string[];
  /** Warnings that concern no single server, such as rules that match no tool. Empty while `problems` is not. */
  readonly warnings: readonly string[];
  /** Why single servers keep their earlier secrets, although the config is in use. */
  readonly serverProblems: readonly string[];
  /** Servers that were restarted, because their secrets have other values now. */
  readonly restarted: readonly string[];
  /** Servers that changed files added or changed since the last `reload()`. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Gateway settings that were applied since the last `reload()`, such as `budgets`. */
  readonly applied: readonly string[];
  /** Changed settings that take effect after a restart of the gateway, such as `gateway.port`. */
  readonly restart: readonly string[];
  /** The end of a TLS certificate that replaced another one (ISO time). */
  readonly certificateValidUntil?: string | undefined;
}

/** `renewTls` reads the certificate again, and resolves with its end if it has changed. */
export function createReload(
  workspace: OpenedWorkspace,
  settings: SettingsInUse,
  renewTls: () => Promise<Date | undefined> | undefined,
): (trusted?: readonly FileChange[]) => Promise<ReloadOutcome> {
  const touchedServers = new Set<string>();
  workspace.events.on(
    (event) => {
      if (event.type !== "mcp.config_reloaded") return;
      for (const alias of [...event.added, ...event.changed, ...event.removed]) touchedServers.add(alias);
    },
    { calls: false },
  );
  return async (trusted) => {
    // A replacement that fails during this reload is not tried twice.
    const earlier = workspace.hub.members.flatMap(({ failedReplacement }) => failedReplacement ?? []);
    const errors = await workspace.reload(trusted);
    const touched = [...touchedServers].toSorted();
    touchedServers.clear();
    const isThere = (alias: string): boolean => workspace.hub.members.some((one) => one.alias === alias);
    const fileProblems = (errors ?? []).map(describe);
    // A server that writes a config file must not prevent that the gateway reads its new token.
    const isInvalid = errors?.some(({ code }) => code !== "FILE_UNTRUSTED") === true;
    await settings.apply(!isInvalid);
    if (isInvalid) settings.announce({ problems: fileProblems });
    let tlsProblem: string | undefined;
    const tlsEnd = await renewTls()?.catch((thrown: unknown) => {
      const { code, message, hint } = toPortolanError(thrown);
      tlsProblem = hintedMessage({ code, severity: "error", message, hint });
      return undefined;
    });
    const { restarted, problems: serverProblems } = await workspace.renewSecrets(earlier);
    // While the file of the settings has an error, `settings.problem` is about the earlier text of the file.
    const ownFiles = OWN_NAMES.map((name) => join(workspace.config.folder ?? "", name));
    const isEarlier = isInvalid && errors.some(({ file = "" }) => ownFiles.includes(file));
    const problems = [...fileProblems, isEarlier ? undefined : settings.problem, tlsProblem].filter(
      (one) => one !== undefined,
    );
    const warnings = workspace.diagnostics.filter(
      ({ severity, server: about }) => severity === "warning" && about === undefined,
    );
    return {
      hasFiles: errors !== undefined,
      problems,
      warnings: problems.length > 0 ? [] : warnings.map(describe),
      serverProblems,
      restarted,
      changed: touched.filter(isThere),
      removed: touched.filter((alias) => !isThere(alias)),
      applied: settings.takeApplied(),
      // Changes that are not in use as a whole need no restart yet.
      restart: problems.length > 0 ? [] : settings.atRestart,
      certificateValidUntil: tlsEnd?.toISOString(),
    };
  };
}

function describe(diagnostic: Diagnostic): string {
  return locatedMessage({ ...diagnostic, message: hintedMessage(diagnostic) });
}
