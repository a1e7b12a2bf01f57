// Commands of system package managers. They change the whole machine, so that Portolan only shows them to the
// user.

import type { InstallMethod } from "../model/index.ts";

interface Manager {
  readonly words: string;
  /** The platforms that have it. Default: all. */
  readonly on?: readonly NodeJS.Platform[];
}

const MANAGERS: Readonly<Record<string, Manager>> = {
  brew: { words: "brew install", on: ["darwin", "linux"] },
  apt: { words: "sudo apt-get install", on: ["linux"] },
  dnf: { words: "sudo dnf install", on: ["linux"] },
  pacman: { words: "sudo pacman -S", on: ["linux"] },
  choco: { words: "choco install", on: ["win32"] },
  scoop: { words: "scoop install", on: ["win32"] },
  cargo: { words: "cargo install" },
  go: { words: "go install" },
  pip: { words: "pip install" },
};
/** The user copies the command into a shell. */
const PLAIN = /^[A-Za-z0-9@][\w@./+:=~-]*$/;

/** Undefined for methods that Portolan carries out itself. */
export function systemCommand(
  method: InstallMethod,
  platform: NodeJS.Platform = process.platform,
): { readonly command: string; readonly here: boolean } | undefined {
  const manager = MANAGERS[method.method];
  if (manager === undefined || !("package" in method)) return undefined;
  const words = method.method === "pip" && method.user === true ? `${manager.words} --user` : manager.words;
  const name =
    method.method === "go" && !method.package.includes("@") ? `${method.package}@latest` : method.package;
  const here = (manager.on?.includes(platform) ?? true) && PLAIN.test(name);
  return { command: `${words} ${name}`, here };
}
