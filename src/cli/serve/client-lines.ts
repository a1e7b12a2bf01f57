// What to paste into other programs, so that they use the gateway.

import { basename, isAbsolute, relative } from "node:path";

export interface ClientLine {
  readonly client: string;
  /** The file that it goes into; without one it is a command. */
  readonly file?: string;
  readonly text: string;
}

export interface Access {
  readonly url: string;
  /** Undefined when none is needed. */
  readonly token: { readonly shown: string } | { readonly command: string } | undefined;
}

/** Stands for a token that is not shown. */
export const TOKEN_PLACE = "<token>";

export function clientLines({ url, token }: Access): ClientLine[] {
  const shown = token !== undefined && "shown" in token ? token.shown : undefined;
  const inShell = shown ?? (token === undefined ? "" : `$(${(token as { command: string }).command})`);
  const header = token === undefined ? "" : ` --header "Authorization: Bearer ${inShell}"`;
  const entry = {
    url,
    ...(token === undefined ? {} : { headers: { Authorization: `Bearer ${shown ?? TOKEN_PLACE}` } }),
  };
  return [
    { client: "Claude Code", text: `claude mcp add --transport http portolan ${url}${header}` },
    {
      client: "Cursor",
      file: "~/.cursor/mcp.json",
      text: JSON.stringify({ mcpServers: { portolan: entry } }),
    },
    {
      client: "VS Code",
      file: ".vscode/mcp.json",
      text: JSON.stringify({ servers: { portolan: { type: "http", ...entry } } }),
    },
  ];
}

/** The command that prints the token, called the way this one was: it must work where it is pasted. */
export function tokenCommand(script: string | undefined, cwd: string, folder: string): string {
  const program =
    script === undefined || basename(script) === "portolan" ? "portolan" : `node ${near(script, cwd)}`;
  return `${program} token${folder === cwd ? "" : ` -w ${near(folder, cwd)}`}`;
}

function near(path: string, cwd: string): string {
  const short = relative(cwd, path);
  const shown = short === "" || short.startsWith("..") || isAbsolute(short) ? path : short;
  return /^[\w./:@\\-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`;
}
