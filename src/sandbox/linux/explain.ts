// Why namespaces cannot be created on this machine, and the command that fixes it.

import { existsSync, readFileSync } from "node:fs";

export type ReadSystem = (file: string) => string | undefined;

export function readLine(file: string): string | undefined {
  try {
    return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
  } catch {
    return undefined;
  }
}

/** The program that creates the namespaces. */
export interface NamespaceProgram {
  readonly name: string;
  readonly file: string;
  /** Name of an AppArmor profile for it. */
  readonly profile: string;
  /** A command that shows the problem. */
  readonly test: string;
}

interface Explanation {
  readonly detail: string;
  readonly remedy: string;
}

/** Derives the cause and the fix from the program's output and the kernel's settings. */
export function explainNamespaces(
  said: string,
  program: NamespaceProgram,
  readSystem: ReadSystem,
): Explanation {
  const kernel = explainByKernel(program, readSystem);
  if (readSystem("/.dockerenv") !== undefined || readSystem("/run/.containerenv") !== undefined) {
    const options =
      "Start the container with these options: `docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined …`";
    return {
      detail: `this container does not allow sandboxes inside of it (${said})`,
      // A container has the settings of its host's kernel, and cannot change them.
      remedy: kernel === undefined ? options : `${options}. Also run this on its host: \`${kernel.sysctl}\``,
    };
  }
  return (
    kernel ?? {
      detail: said,
      remedy: `Run this test, and remove the cause of its error: \`${program.test}\``,
    }
  );
}

/** `sysctl` changes the setting for all programs. */
function explainByKernel(
  { name, file, profile }: NamespaceProgram,
  readSystem: ReadSystem,
): (Explanation & { readonly sysctl: string }) | undefined {
  if (readSystem("/proc/sys/user/max_user_namespaces") === "0") {
    const sysctl = "sudo sysctl -w user.max_user_namespaces=15000";
    return {
      detail: "this machine allows no user namespaces (user.max_user_namespaces is 0)",
      ...{ remedy: sysctl, sysctl },
    };
  }
  if (readSystem("/proc/sys/kernel/unprivileged_userns_clone") === "0") {
    const sysctl = "sudo sysctl -w kernel.unprivileged_userns_clone=1";
    return {
      detail: "only root can create user namespaces here (kernel.unprivileged_userns_clone is 0)",
      ...{ remedy: sysctl, sysctl },
    };
  }
  if (readSystem("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === "1") {
    const text = `abi <abi/4.0>, include <tunables/global> profile ${profile} ${file} flags=(unconfined) { userns, }`;
    const place = `/etc/apparmor.d/${profile}`;
    return {
      detail: `AppArmor does not let ${name} create user namespaces`,
      remedy: `echo '${text}' | sudo tee ${place} && sudo apparmor_parser -r ${place}`,
      sysctl: "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    };
  }
  return undefined;
}

/** Package managers by the distributions that use them; apt-get is the default. */
const MANAGERS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:fedora|rhel|centos)\b/, "sudo dnf install"],
  [/\b(?:suse|opensuse\S*)\b/, "sudo zypper install"],
  [/\barch\b/, "sudo pacman -S"],
  [/\balpine\b/, "sudo apk add"],
];

/** Names of packages that differ from that of apt-get. */
const NAMES: Readonly<Record<string, string>> = { "sudo dnf install iproute2": "sudo dnf install iproute" };

/** The command that installs a package on this distribution. */
export function installCommand(name: string, readSystem: ReadSystem): string {
  const about = readSystem("/etc/os-release") ?? "";
  const ids = [...about.matchAll(/^ID(?:_LIKE)?=(.*)$/gm)].map(([, value]) => value).join(" ");
  const manager = MANAGERS.find(([pattern]) => pattern.test(ids))?.[1] ?? "sudo apt-get install";
  const command = `${manager} ${name}`;
  return NAMES[command] ?? command;
}
