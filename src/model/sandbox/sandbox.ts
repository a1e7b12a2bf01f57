// Sandbox, installation and start settings of a local server, as plain data and independent of the config file format.

/** `enforce`: all rules are enforced, or the server does not start. `warn`: rules that cannot be enforced are reported. `off`: no sandbox. */
export type SandboxMode = "enforce" | "warn" | "off";

export type SandboxBackendName = "bubblewrap" | "unshare" | "sandbox-exec" | "docker" | "srt" | "none";

/** The resource limits of a sandbox. */
export interface ResourceLimits {
  /** Memory of each process, in bytes. */
  readonly memoryBytes?: number;
  readonly processes?: number;
  /** Open files of each process. */
  readonly openFiles?: number;
  /** Processor time of each process, in seconds. */
  readonly cpuSeconds?: number;
  /** Size of the largest file that it may write, in bytes. */
  readonly fileBytes?: number;
  /** Niceness of the process, from 0 to 19. */
  readonly niceness?: number;
}

/**
 * Sandbox policy of one server. Absent fields have the values of the default profile: a read-only system and the server's own folder,
 * a private HOME and /tmp, no network. Paths are absolute or begin with `~/`.
 */
export interface SandboxConfig {
  readonly mode?: SandboxMode;
  /** Required backend. The default is the one that this machine has for the kind of server. */
  readonly backend?: SandboxBackendName;
  /** Allow-list of hosts: `host`, `*.host`, `host:port`, an address, or `*` for every public host. */
  readonly network?: readonly string[];
  readonly fs?:
    | {
        readonly read?: readonly string[];
        readonly write?: readonly string[];
        /** Hidden paths, also inside of granted folders. */
        readonly deny?: readonly string[];
      }
    | undefined;
  readonly env?:
    | {
        /** Variables of Portolan's own environment that the server also gets. */
        readonly pass?: readonly string[];
        readonly set?: Readonly<Record<string, string>>;
      }
    | undefined;
  readonly exec?:
    | {
        /** The only programs that the server may run. */
        readonly allow?: readonly string[];
        /** If false, the server may not start other processes. The default is true. */
        readonly spawn?: boolean;
      }
    | undefined;
  /** `kept` keeps the files in HOME for the next start. The default `private` deletes them when the server stops. */
  readonly home?: "private" | "kept";
  readonly limits?: ResourceLimits;
  /** Arguments that are paths or file URIs, by tool name or pattern with `*`. They are checked against the sandbox before a call is forwarded. */
  readonly pathArguments?: Readonly<Record<string, readonly string[]>>;
}

export type InstallMethod =
  | {
      readonly method: "brew" | "apt" | "dnf" | "pacman" | "choco" | "scoop" | "cargo" | "go";
      readonly package: string;
    }
  | { readonly method: "npm"; readonly package: string; readonly global?: boolean }
  | { readonly method: "pip"; readonly package: string; readonly user?: boolean }
  | { readonly method: "curl"; readonly url: string; readonly sha256?: string }
  | {
      readonly method: "download";
      readonly url: string;
      /** Path of the program in the archive. */
      readonly extractBin: string;
      readonly sha256?: string;
    }
  | { readonly method: "vendored"; readonly path: string };

export interface VersionCheck {
  /** A command line, split into words. No shell runs it. */
  readonly command: string;
  /** A regular expression whose first group is the version, searched in stdout and then in stderr. */
  readonly parse: string;
  /** A version range in the syntax of npm. */
  readonly range: string;
  readonly timeoutMs?: number;
}

/** Installation and start settings of a program, beside its command. */
export interface LaunchSettings {
  /** If true, the working folder is only the folder of the config file, and the sandbox grants no access to it. */
  readonly cwdImplied?: boolean;
  readonly sandbox?: SandboxConfig;
  /** Existing folder that is the HOME of the server, with and without a sandbox. It belongs to one of several users. */
  readonly homeFolder?: string;
  /** Mode that the command line sets. It overrides the mode of the config. */
  readonly sandboxOverride?: SandboxMode;
  /**
   * Name in `--sandbox <name>=<mode>`, for drivers, whose own file cannot lower the mode. Empty for the only server of a
   * command line, whose option is `--sandbox <mode>`. Undefined if a config sets the mode.
   */
  readonly modeName?: string;
  /** Driver that the server belongs to. */
  readonly driver?: string;
  /** Mode that a DRIVER.md requests. It has no effect until the workspace or the command line sets the same mode. */
  readonly askedMode?: "warn";
  /** Methods in order of preference. */
  readonly install?: readonly InstallMethod[];
  readonly versionCheck?: VersionCheck;
  readonly requires?:
    | {
        /** Values of `process.platform`. */
        readonly os?: readonly string[];
        /** Values of `process.arch`. */
        readonly arch?: readonly string[];
        /** Memory of the machine. */
        readonly memoryBytes?: number;
        /** Free disk space where programs are installed. */
        readonly diskBytes?: number;
      }
    | undefined;
}

/** Returns the option and the config line that set a sandbox mode. */
export function modeWords(settings: LaunchSettings | undefined, mode: SandboxMode): string {
  const { modeName, driver } = settings ?? {};
  if (modeName === undefined) return `sandbox: ${mode}`;
  if (modeName === "") return `--sandbox ${mode}`;
  const forAll = `--sandbox ${modeName}=${mode}`;
  return driver === undefined
    ? forAll
    : `contracts: { sandbox: { ${driver}: ${mode} } } in portolan.yaml, or ${forAll}`;
}

/** The sandbox modes that the command line and the workspace set for the servers of drivers. */
export interface DriverModes {
  /** The mode that the command line sets for all of them. */
  readonly override: SandboxMode | undefined;
  /** The name that the command line knows all of them by. */
  readonly alias: string;
  /** The modes that the workspace sets, by the id of the driver. */
  readonly byDriver: Readonly<Record<string, SandboxMode>> | undefined;
}

/** Returns a driver's settings with the mode of the workspace or the command line. A DRIVER.md never switches off its own sandbox. */
export function withDriverMode(
  launch: LaunchSettings,
  driver: string,
  { override, alias, byDriver }: DriverModes,
): LaunchSettings {
  const mode = byDriver !== undefined && Object.hasOwn(byDriver, driver) ? byDriver[driver] : undefined;
  return {
    ...launch,
    ...(override === undefined ? {} : { sandboxOverride: override }),
    ...(mode === undefined ? {} : { sandbox: { ...launch.sandbox, mode } }),
    modeName: alias,
    driver,
  };
}
