// Check of an audit for the installed files of a package: each one is compared with the hash of its installation.

import type { ServerConfig } from "../../model/index.ts";
import { describeFault, type FileFault, type Verified } from "../../install/index.ts";
import { type Finding, findingAt } from "./findings.ts";

/** More findings of one package help nobody. */
const MAX_FILES = 50;
/** Python writes compiled modules beside the sources, if the server runs without a sandbox. */
const PYTHON_CACHE = /(?:^|\/)__pycache__\/[^/]+\.pyc$/;

/** `verified` is undefined if the package is not installed. */
export function checkFiles(server: ServerConfig, label: string, verified: Verified | undefined): Finding[] {
  const hint = `Install the package again: portolan install ${server.alias}`;
  const cacheHint = `Python wrote this file while the server ran without a sandbox. To prevent this, run the server in a sandbox, or set PYTHONDONTWRITEBYTECODE=1 in its env. Then install the package again: portolan install ${server.alias}`;
  if (verified === undefined)
    return [
      findingAt(server, "files-missing", "note", {
        message: `The files of ${label} are not on this machine.`,
        hint: `Install the package: portolan install ${server.alias}`,
      }),
    ];
  const { faults, isComplete } = verified;
  const more = faults.slice(MAX_FILES);
  return [
    ...faults.slice(0, MAX_FILES).map((fault) =>
      findingAt(server, "files-damaged", isHarmless(fault) ? "warning" : "error", {
        message: `Files of ${label} changed after the installation: ${describeFault(fault)}.`,
        hint: isHarmless(fault) ? cacheHint : hint,
        part: fault.path,
      }),
    ),
    ...(more.length > 0
      ? [
          findingAt(server, "files-damaged", more.every(isHarmless) ? "warning" : "error", {
            message: `Files of ${label} changed after the installation: ${more.length} more files are missing, or were changed or added.`,
            hint,
            part: "more",
          }),
        ]
      : []),
    ...(isComplete || faults.length > 0
      ? []
      : [
          findingAt(server, "not-checked", "note", {
            message: `Portolan has no list of all files of ${label}, so it compared only the files that it also checks at each start. It does not notice changes in other files.`,
          }),
        ]),
  ];
}

function isHarmless({ path, state }: FileFault): boolean {
  return state === "added" && PYTHON_CACHE.test(path);
}
