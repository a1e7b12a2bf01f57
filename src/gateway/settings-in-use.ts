// The settings that a gateway uses: applies those of changed config files, one change after the other.

import { type Diagnostic, hintedMessage, type Report, toPortolanError } from "../errors/index.ts";
import type { OpenedWorkspace } from "../hub/index.ts";
import type { GatewaySettings } from "../model/index.ts";
import { withRedactedError } from "../secrets/index.ts";
import { readToken } from "./access/access-file.ts";
import { resolveCallerTokens } from "./access/bearer-tokens.ts";
import { checkTls } from "./check-start.ts";
import { createLiveSettings, type LiveSettings, toSection, withoutRestart } from "./settings.ts";
import { resolveTelemetry } from "./telemetry/resolve-telemetry.ts";

export interface SettingsSource {
  readonly workspace: OpenedWorkspace;
  /** The gateway's own token, and the file that contains it. */
  readonly access: { readonly token?: string | undefined; readonly file?: string | undefined };
  /** The settings of the config files, changed by those of the program or the command line. */
  readonly configured: () => GatewaySettings;
}

/** Throws if the settings cannot be used. Otherwise returns the function that uses them, which does not fail. */
export type PrepareSettings = (next: GatewaySettings, token: string | undefined) => () => Promise<void>;

interface Announcement {
  readonly changed?: readonly string[];
  readonly restart?: readonly string[];
  readonly problems?: readonly string[];
}

export class SettingsInUse {
  readonly live: LiveSettings;
  /** The gateway's own token. */
  token: string | undefined;
  /** Why changed settings are not in use; undefined if they are. */
  problem: string | undefined;
  /** Changed settings that take effect after a restart, such as `gateway.port`. */
  atRestart: readonly string[] = [];
  readonly #source: SettingsSource;
  readonly #replace: (next: GatewaySettings) => void;
  /** The settings of the config files when the gateway was opened. */
  readonly #first: GatewaySettings | undefined;
  /** Diagnostics about the settings, until other settings are in use. */
  #diagnostics: Diagnostic[] = [];
  /** Names of settings that were applied since the last `takeApplied()`: a changed file is often applied before a reload. */
  readonly #applied = new Set<string>();
  #applying = Promise.resolve();
  #prepare: PrepareSettings = () => async () => {};

  static async open(source: SettingsSource): Promise<SettingsInUse> {
    const first = source.workspace.gateway.settings;
    const found: Diagnostic[] = [];
    const settings = await resolve(source, (diagnostic) => found.push(diagnostic));
    const opened = new SettingsInUse(source, first, settings);
    for (const diagnostic of found) opened.report(diagnostic);
    return opened;
  }

  private constructor(source: SettingsSource, first: GatewaySettings | undefined, settings: GatewaySettings) {
    const { live, replace } = createLiveSettings(settings);
    this.live = live;
    this.token = source.access.token;
    this.#source = source;
    this.#replace = replace;
    this.#first = first;
  }

  /** Reports a diagnostic that is about the settings in use. */
  readonly report: Report = (diagnostic) => {
    this.#diagnostics.push(diagnostic);
    this.#source.workspace.report(diagnostic);
  };

  /** Applies changes of the config files from now on. */
  begin(prepare: PrepareSettings): void {
    const { gateway } = this.#source.workspace;
    this.#prepare = prepare;
    gateway.onChange(() => void this.apply());
    // The files may have changed while the gateway was created.
    if (gateway.settings !== this.#first) void this.apply();
  }

  /** Resolves when no change is being applied. */
  get applied(): Promise<void> {
    return this.#applying;
  }

  /** Applies the settings of the config files. If it fails, the earlier ones stay in use, and `problem` says why. */
  apply(isRequested = false): Promise<void> {
    this.#applying = this.#applying
      .then(() => this.#apply(isRequested))
      .catch((thrown: unknown) => this.#failed(thrown));
    return this.#applying;
  }

  takeApplied(): readonly string[] {
    const names = [...this.#applied].toSorted();
    this.#applied.clear();
    return names;
  }

  announce({ changed = [], restart = [], problems = [] }: Announcement): void {
    const { events } = this.#source.workspace;
    events.emit({ type: "gateway.reloaded", server: "gateway", changed, restart, problems });
  }

  async #apply(isRequested: boolean): Promise<void> {
    const earlier = this.#diagnostics.splice(0);
    try {
      await this.#use(isRequested);
    } catch (error) {
      this.#diagnostics = [...earlier, ...this.#diagnostics];
      throw error;
    }
    this.#source.workspace.forget((diagnostic) => earlier.includes(diagnostic));
  }

  async #use(isRequested: boolean): Promise<void> {
    const resolved = await resolve(this.#source, this.report);
    const { settings: next, changed, restart } = withoutRestart(this.live.all, resolved);
    // The gateway does not use these files before its restart, which would then fail.
    const warnings = restart.includes("tls") ? await checkTls(resolved.tls) : [];
    const { token } = this;
    const { file } = this.#source.access;
    const nextToken = isRequested && token !== undefined ? await readToken(file, token) : token;
    // Everything that can fail is done before the first change.
    const use = this.#prepare(next, nextToken);
    this.#replace(next);
    if (nextToken !== token) changed.push("token");
    this.token = nextToken;
    await use();
    for (const name of changed) this.#applied.add(name);
    this.problem = undefined;
    this.atRestart = restart.map(toSection);
    for (const warning of warnings) this.report(warning);
    if (isRequested || changed.length + restart.length > 0) this.announce({ changed, restart });
  }

  #failed(thrown: unknown): void {
    const { redactor } = this.#source.workspace;
    const { message, code, hint } = withRedactedError(toPortolanError(thrown), redactor);
    const problem = { code, severity: "error", message, hint } as const;
    const prefix = "The changed gateway settings are not in use: ";
    this.problem = `${prefix}${hintedMessage(problem)}`;
    this.report({ ...problem, message: `${prefix}${message}` });
    this.announce({ problems: [message] });
  }
}

/** The settings of the config files, with the values of their secrets. */
async function resolve({ workspace, configured }: SettingsSource, report: Report): Promise<GatewaySettings> {
  const { config, redactor, secrets } = workspace;
  const { folder = "." } = config;
  const resolved = await resolveCallerTokens(configured(), secrets, folder);
  const telemetry = await resolveTelemetry(resolved.settings.telemetry, secrets, folder);
  for (const secret of [...resolved.secrets, ...telemetry.secrets]) redactor.add(secret);
  for (const warning of [...resolved.warnings, ...telemetry.warnings]) report(warning);
  return { ...resolved.settings, telemetry: telemetry.settings };
}
