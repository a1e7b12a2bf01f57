// What a local server may touch: the box as a declaration asks for it. Plain data, free of any declaration format.

/** `enforce`: everything holds, or the server does not start. `warn`: what this machine cannot hold is said, and it starts. `off`: no box. */
export type SandboxMode = "enforce" | "warn" | "off";

export type SandboxBackendName = "bubblewrap" | "docker" | "srt" | "none";

export interface ResourceLimits {
  /** Memory of each process, in bytes. */
  readonly memoryBytes?: number | undefined;
  readonly processes?: number | undefined;
  /** Open files of each process. */
  readonly openFiles?: number | undefined;
  /** Processor time of each process, in seconds. */
  readonly cpuSeconds?: number | undefined;
  /** The largest file that it may write, in bytes. */
  readonly fileBytes?: number | undefined;
  /** How far it stands back behind other programs, 0 to 19. */
  readonly niceness?: number | undefined;
}

/**
 * One server's box as declared; what is absent is as the default profile has it: a read-only system and the server's own folder,
 * a private HOME and /tmp, no network. Paths are absolute by now, or begin with `~/`.
 */
export interface SandboxDeclaration {
  readonly mode?: SandboxMode | undefined;
  /** Only this one; otherwise whichever this machine has for the kind of server. */
  readonly backend?: SandboxBackendName | undefined;
  /** Hosts that may be reached: `host`, `*.host`, `host:port`, an address, or `*` for every public host. */
  readonly network?: readonly string[] | undefined;
  readonly fs?:
    | {
        readonly read?: readonly string[] | undefined;
        readonly write?: readonly string[] | undefined;
        /** Hidden, also inside what is granted. */
        readonly deny?: readonly string[] | undefined;
      }
    | undefined;
  readonly env?:
    | {
        /** Variables of this program's own environment that the server gets, too. */
        readonly pass?: readonly string[] | undefined;
        readonly set?: Readonly<Record<string, string>> | undefined;
      }
    | undefined;
  readonly exec?:
    | {
        /** The only programs that are there to be run, beside the server itself. */
        readonly allow?: readonly string[] | undefined;
        /** Whether it may start other processes. Default: true. */
        readonly spawn?: boolean | undefined;
      }
    | undefined;
  /** `kept`: what it writes into its HOME is there again at the next start. Default: `private`, forgotten when it stops. */
  readonly home?: "private" | "kept" | undefined;
  readonly limits?: ResourceLimits | undefined;
  /** Arguments that are paths or file URIs, by tool (patterns with `*`): checked against the box before a call is forwarded. */
  readonly pathArguments?: Readonly<Record<string, readonly string[]>> | undefined;
}

export type InstallMethod =
  | {
      readonly method: "brew" | "apt" | "dnf" | "pacman" | "choco" | "scoop" | "cargo" | "go";
      readonly package: string;
    }
  | { readonly method: "npm"; readonly package: string; readonly global?: boolean | undefined }
  | { readonly method: "pip"; readonly package: string; readonly user?: boolean | undefined }
  | { readonly method: "curl"; readonly url: string; readonly sha256?: string | undefined }
  | {
      readonly method: "download";
      readonly url: string;
      /** The program inside the archive. */
      readonly extractBin: string;
      readonly sha256?: string | undefined;
    }
  | { readonly method: "vendored"; readonly path: string };

export interface VersionCheck {
  /** One command line, split into words as a template is; never read by a shell. */
  readonly command: string;
  /** A regular expression whose first group is the version; looked for in stdout, then in stderr. */
  readonly parse: string;
  /** As npm writes ranges. */
  readonly range: string;
  readonly timeoutMs?: number | undefined;
}

/** What a declaration says about how a program is brought here and started, beside its command. */
export interface LaunchSettings {
  /** The working folder is where the declaration stands, not one that it asks for: nothing is granted by it. */
  readonly cwdImplied?: boolean | undefined;
  readonly sandbox?: SandboxDeclaration | undefined;
  /** A folder that is its HOME, inside of a box and without one: that of one user among several. It must exist. */
  readonly homeFolder?: string | undefined;
  /** The mode that whoever starts the server asks for, over the declared one. */
  readonly sandboxOverride?: SandboxMode | undefined;
  /** The name that `--sandbox <name>=<mode>` knows it by, where its own file cannot decide about the mode: that of a driver. */
  readonly modeName?: string | undefined;
  /** The driver that it is the server of. */
  readonly driver?: string | undefined;
  /** The mode that a driver's file asks for. It has no effect until the workspace, or the command line, says the same. */
  readonly askedMode?: "warn" | undefined;
  /** In order of preference. */
  readonly install?: readonly InstallMethod[] | undefined;
  readonly versionCheck?: VersionCheck | undefined;
  readonly requires?:
    | {
        /** As `process.platform` names them. */
        readonly os?: readonly string[] | undefined;
        /** As `process.arch` names them. */
        readonly arch?: readonly string[] | undefined;
        /** Of the whole machine. */
        readonly memoryBytes?: number | undefined;
        /** Free where programs are installed. */
        readonly diskBytes?: number | undefined;
      }
    | undefined;
}

/** How somebody says that a server is to be boxed in this mode. */
export function modeWords(settings: LaunchSettings | undefined, mode: SandboxMode): string {
  const { modeName, driver } = settings ?? {};
  if (modeName === undefined) return `sandbox: ${mode}`;
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

/** A driver's settings with the mode that the workspace or the command line says. A stranger's file never switches off its own sandbox. */
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
