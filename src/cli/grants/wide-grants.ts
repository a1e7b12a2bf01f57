// Warnings about grants that give a server much more than most servers need: the whole home folder, keys and tokens, or the
// folder of the workspace.

import { relative } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";

/** Files and folders of the home folder that usually contain keys or tokens. */
const SECRET_PLACES = [
  ...[".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc"],
  ...[".git-credentials", ".password-store", ".config", ".config/gcloud", ".config/gh", ".claude.json"],
];

export interface WideGrant {
  readonly alias: string;
  readonly access: "read" | "write";
  /** Absolute. */
  readonly path: string;
  readonly home: string;
  /** The folder of the workspace, which contains programs and config files. */
  readonly workspace?: string;
  readonly isDry: boolean;
}

/** Undefined for the usual grants. */
export function wideGrant({
  alias,
  access,
  path,
  home,
  workspace,
  isDry,
}: WideGrant): { readonly message: string; readonly hint: string } | undefined {
  const fromPath = relative(path, home);
  const isAround = fromPath === "" || !fromPath.startsWith("..");
  const isSecret = SECRET_PLACES.some((place) => {
    const inside = relative(`${home}/${place}`, path);
    return inside === "" || (place !== ".config" && !inside.startsWith(".."));
  });
  const isWorkspace = access === "write" && `${workspace}/`.startsWith(`${path}/`);
  if (!isAround && !isSecret && !isWorkspace) return undefined;
  const verb = access === "read" ? "read" : "change";
  const what = isAround
    ? `${verb} every file of ${path}, also keys and tokens such as those in ~/.ssh`
    : isWorkspace
      ? `${verb} every file of ${path} except config files, for example its own program`
      : `${verb} ${path}, where programs keep keys and tokens`;
  const less =
    isAround || isWorkspace
      ? "If a folder in it is enough, grant only that folder"
      : "If the server does not need them, do not grant this path";
  const undo = isDry
    ? ""
    : `, and revoke this grant: portolan revoke ${shellWord(alias)} --${access} ${shellWord(path)}`;
  return { message: `${alias} ${isDry ? "could then" : "can now"} ${what}`, hint: `${less}${undo}` };
}
