// Order of versions as texts.

import { compareVersions, parseVersion } from "../../base/text/versions.ts";

/** Negative if the first is lower. Texts that are no versions are equal, so that nothing is concluded from them. */
export function compareVersionTexts(a: string, b: string): number {
  const [first, second] = [parseVersion(a), parseVersion(b)];
  return first === undefined || second === undefined ? 0 : compareVersions(first, second);
}
