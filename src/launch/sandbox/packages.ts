// The command that installs a package on this distribution, as its owner would type it.

const MANAGERS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:fedora|rhel|centos)\b/, "sudo dnf install"],
  [/\b(?:suse|opensuse\S*)\b/, "sudo zypper install"],
  [/\barch\b/, "sudo pacman -S"],
  [/\balpine\b/, "sudo apk add"],
];

export function installCommand(name: string, readSystem: (file: string) => string | undefined): string {
  const about = readSystem("/etc/os-release") ?? "";
  const ids = [...about.matchAll(/^ID(?:_LIKE)?=(.*)$/gm)].map(([, value]) => value).join(" ");
  const manager = MANAGERS.find(([pattern]) => pattern.test(ids))?.[1] ?? "sudo apt-get install";
  return `${manager} ${name}`;
}
