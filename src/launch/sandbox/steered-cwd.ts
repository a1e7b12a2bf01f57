// A working folder behind a link that the server could lay itself: it is not given what the link leads to, so that there is nothing to start in.

import type { Clause, Mount } from "../types.ts";
import { isInside, laidLink, resolveLinks } from "./paths.ts";

/** Nothing when the folder is there for another reason. */
export async function steeredCwd(
  cwd: string | undefined,
  writable: readonly string[],
  grants: readonly Mount[],
): Promise<Clause[]> {
  const resolved = cwd === undefined ? undefined : await resolveLinks(cwd);
  if (resolved === undefined) return [];
  const { real, links } = resolved;
  const laid = laidLink(links, writable);
  if (laid === undefined || grants.some(({ path }) => isInside(real, path))) return [];
  return [
    {
      clause: `cwd: ${cwd}`,
      problem: `${laid.path} is a link in a folder that the server may write to, so it could lead anywhere`,
      remedy: `Write cwd: ${real}.`,
    },
  ];
}
