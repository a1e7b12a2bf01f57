// Commands for a terminal in any folder: each names the workspace of the gateway.

const PLAIN = /^[\w@%+:,./=-]+$/;

/** A word as a shell reads it. */
export function quoted(text: string): string {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The option with a space before it; empty while the workspace is unknown, as before the sign-in. */
export function workspaceOption(path: string | undefined): string {
  return path === undefined ? "" : ` -w ${quoted(path)}`;
}

/** Adds the option at the end, or before the command of a server. A command that has it, and any other text, stays as it is. */
export function inWorkspace(text: string, path: string | undefined): string {
  if (!text.startsWith("portolan ") || text.includes(" -w ")) return text;
  return text.replace(/(?= -- |$)/, () => workspaceOption(path));
}
