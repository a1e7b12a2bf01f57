// The clients this room knows, and where each keeps its file on Linux, macOS and Windows.

import { posix, win32 } from "node:path";
import { CLIENT_FORMATS, CLIENT_TITLES } from "./detect.ts";
import type { ClientFormat, ClientId, Scope } from "../types.ts";

export interface Computer {
  readonly home: string;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface UsualPlace {
  /** A path in which a `*` stands for any part of one name. */
  readonly file: string;
  readonly scope: Scope;
}

export interface ClientInfo {
  readonly id: ClientId;
  readonly title: string;
  readonly format: ClientFormat;
  /** Files of the user, the preferred one first, then those of a project in `cwd`. */
  readonly places: (computer: Computer) => readonly UsualPlace[];
}

type Places = (at: Folders) => { readonly user?: readonly string[]; readonly project?: readonly string[] };

/** Folders that places are named from. */
interface Folders {
  readonly join: (...parts: string[]) => string;
  readonly home: string;
  readonly cwd: string;
  /** Where desktop programs keep their settings. */
  readonly settings: string;
  /** `~/.config`, also on macOS and Windows, for programs that take it there. */
  readonly config: string;
  readonly localData: string | undefined;
  readonly env: Computer["env"];
}

const PLACES: Readonly<Record<ClientId, Places>> = {
  "claude-code": ({ join, home, cwd, env }) => ({
    user: [join(env["CLAUDE_CONFIG_DIR"] || home, ".claude.json")],
    project: [join(cwd, ".mcp.json")],
  }),
  "claude-desktop": ({ join, settings, localData }) => ({
    user: [
      // Windows redirects what a packaged program reads; the plain file is then not looked at.
      ...(localData === undefined
        ? []
        : [
            join(
              localData,
              "Packages",
              "Claude_*",
              "LocalCache",
              "Roaming",
              "Claude",
              "claude_desktop_config.json",
            ),
          ]),
      join(settings, "Claude", "claude_desktop_config.json"),
    ],
  }),
  cursor: ({ join, home, cwd }) => ({
    user: [join(home, ".cursor", "mcp.json")],
    project: [join(cwd, ".cursor", "mcp.json")],
  }),
  windsurf: ({ join, home }) => ({
    user: [
      join(home, ".codeium", "windsurf", "mcp_config.json"),
      join(home, ".codeium", "windsurf-next", "mcp_config.json"),
      join(home, ".codeium", "mcp_config.json"),
    ],
  }),
  vscode: ({ join, settings, cwd }) => ({
    user: ["Code", "Code - Insiders", "VSCodium"].flatMap((name) => [
      join(settings, name, "User", "mcp.json"),
      join(settings, name, "User", "profiles", "*", "mcp.json"),
    ]),
    project: [join(cwd, ".vscode", "mcp.json")],
  }),
  codex: ({ join, home, cwd, env }) => ({
    user: [join(env["CODEX_HOME"] || join(home, ".codex"), "config.toml")],
    project: [join(cwd, ".codex", "config.toml")],
  }),
  gemini: ({ join, home, cwd }) => ({
    user: [join(home, ".gemini", "settings.json")],
    project: [join(cwd, ".gemini", "settings.json")],
  }),
  opencode: ({ join, config, cwd, env }) => ({
    user: [
      join(config, "opencode", "opencode.json"),
      join(config, "opencode", "opencode.jsonc"),
      ...(env["OPENCODE_CONFIG"] ? [env["OPENCODE_CONFIG"]] : []),
      ...(env["OPENCODE_CONFIG_DIR"] ? [join(env["OPENCODE_CONFIG_DIR"], "opencode.json")] : []),
    ],
    project: [
      join(cwd, "opencode.json"),
      join(cwd, "opencode.jsonc"),
      join(cwd, ".opencode", "opencode.json"),
      join(cwd, ".opencode", "opencode.jsonc"),
    ],
  }),
  axle: ({ join, cwd }) => ({ project: [join(cwd, "axle.yaml"), join(cwd, "axle.yml")] }),
};

export const CLIENTS: Readonly<Record<ClientId, ClientInfo>> = Object.fromEntries(
  (Object.keys(PLACES) as ClientId[]).map((id): [ClientId, ClientInfo] => [
    id,
    {
      id,
      title: CLIENT_TITLES[id],
      format: CLIENT_FORMATS[id],
      places(computer) {
        const { user = [], project = [] } = PLACES[id](foldersOf(computer));
        return [
          ...user.map((file): UsualPlace => ({ file, scope: "user" })),
          ...project.map((file): UsualPlace => ({ file, scope: "project" })),
        ];
      },
    },
  ]),
) as Record<ClientId, ClientInfo>;

function foldersOf({ home, cwd, platform, env }: Computer): Folders {
  const path = platform === "win32" ? win32 : posix;
  const join = (...parts: string[]): string => path.join(...parts);
  const config = env["XDG_CONFIG_HOME"] || join(home, ".config");
  const settings = {
    win32: env["APPDATA"] || join(home, "AppData", "Roaming"),
    darwin: join(home, "Library", "Application Support"),
  };
  return {
    join,
    home,
    cwd,
    settings: platform === "win32" || platform === "darwin" ? settings[platform] : config,
    config,
    localData: platform === "win32" ? env["LOCALAPPDATA"] || join(home, "AppData", "Local") : undefined,
    env,
  };
}
