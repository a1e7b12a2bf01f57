// Service managers: where the definition of a service is stored, and the commands that start, stop and show it.

import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { PortolanError, toPortolanError } from "../../errors/index.ts";
import { findProgram, runProgram, type RunResult } from "../../process/index.ts";
import type { CliIo } from "../context.ts";
import { computerOf } from "../workspace/folder.ts";
import { launchdPlist, type ServiceDefinition, systemdUnit } from "./definition.ts";

export interface ServiceManager {
  readonly title: string;
  readonly file: (name: string) => string;
  readonly text: (service: ServiceDefinition) => string;
  /** A command that fails if the service manager does not run. */
  readonly check: readonly string[];
  /** The commands that enable and start a service, in order. */
  readonly start: (name: string) => readonly (readonly string[])[];
  readonly stop: (name: string) => readonly (readonly string[])[];
  /** Run after the file was removed. */
  readonly removed: readonly (readonly string[])[];
  readonly state: (name: string) => readonly string[];
  /** How to read the log. */
  readonly logs: (service: Pick<ServiceDefinition, "name" | "log">) => string;
}

const RUN_MS = 30_000;
/** systemd has a file here for each user whose services run without a session. */
const LINGER = "/var/lib/systemd/linger";

/** Throws on systems without a supported service manager. */
export function serviceManager(io: CliIo): ServiceManager {
  const { home } = computerOf(io, io.cwd);
  if (io.platform === "darwin") return launchd(home);
  if (io.platform === "linux") return systemd(io.env["XDG_CONFIG_HOME"] || join(home, ".config"));
  throw new PortolanError(
    "NOT_SUPPORTED",
    `Portolan cannot install the gateway as a service on ${io.platform}; it supports systemd (Linux) and launchd (macOS).`,
    {
      hint: "Start the gateway in the background: portolan serve --daemon",
    },
  );
}

function systemd(config: string): ServiceManager {
  const systemctl = (...words: string[]): string[] => ["systemctl", "--user", ...words];
  return {
    title: "systemd",
    file: (name) => join(config, "systemd", "user", `${name}.service`),
    text: systemdUnit,
    check: systemctl("show-environment"),
    start: (name) => [systemctl("daemon-reload"), systemctl("enable", "--now", `${name}.service`)],
    stop: (name) => [systemctl("disable", "--now", `${name}.service`)],
    removed: [systemctl("daemon-reload")],
    state: (name) => systemctl("is-active", `${name}.service`),
    logs: ({ name }) => `journalctl --user -u ${name}`,
  };
}

function launchd(home: string): ServiceManager {
  const domain = `gui/${process.getuid?.() ?? 0}`;
  const file = (name: string): string => join(home, "Library", "LaunchAgents", `${name}.plist`);
  return {
    title: "launchd",
    file,
    text: launchdPlist,
    check: ["launchctl", "print", domain],
    start: (name) => [["launchctl", "bootstrap", domain, file(name)]],
    stop: (name) => [["launchctl", "bootout", `${domain}/${name}`]],
    removed: [],
    state: (name) => ["launchctl", "print", `${domain}/${name}`],
    logs: ({ log }) => `tail -f ${log}`,
  };
}

/** Lines about a user unit that ends with the session; none if the user's services linger. */
export function lingerHint(user: string = userInfo().username, folder: string = LINGER): string[] {
  if (existsSync(join(folder, user))) return [];
  return [
    "The service stops when you log out, and starts when you log in. To let it run while you are logged out: loginctl enable-linger",
  ];
}

/** Runs a command of the service manager. */
export async function runManager(io: CliIo, [command = "", ...args]: readonly string[]): Promise<RunResult> {
  const file = await findProgram(command, { env: io.env, cwd: io.cwd });
  const env = Object.fromEntries(Object.entries(io.env).filter(([, value]) => value !== undefined));
  return runProgram(
    { file, args, cwd: undefined, env: env as Record<string, string> },
    { timeoutMs: RUN_MS },
  );
}

/** Runs commands in order. Throws with the output of the first that fails. */
export async function runAll(io: CliIo, commands: readonly (readonly string[])[]): Promise<void> {
  for (const words of commands) {
    const { code, stderr, stdout } = await runManager(io, words).catch((thrown: unknown) => {
      // A container often has no systemctl at all.
      throw failed(io, words, toPortolanError(thrown).message);
    });
    if (code === 0) continue;
    const why = (stderr.trim() || stdout.trim() || `exit code ${code}`).split("\n").slice(0, 5).join(" ");
    throw failed(io, words, why);
  }
}

function failed(io: CliIo, words: readonly string[], why: string): PortolanError {
  const others =
    io.platform === "linux"
      ? " On a machine without systemd, and in a container, use one of the ways in docs/guides/operation.md#without-systemd of Portolan's repository."
      : "";
  return new PortolanError("SERVER_START_FAILED", `${words.join(" ")} failed: ${why}`, {
    hint: `A service needs the service manager of your session. Without one, start the gateway in the background, where nothing restarts it after a crash: portolan serve --daemon.${others}`,
  });
}
