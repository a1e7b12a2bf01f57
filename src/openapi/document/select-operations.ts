// Which operations were asked for: patterns with `*`, matched in time that grows with the text and never faster.

import { toWildcard } from "../../base/text/wildcard.ts";

export interface Candidate {
  readonly label: string;
  readonly route: string;
  readonly tool?: string;
  readonly tags: readonly string[];
}

export interface Choice {
  readonly takes: (candidate: Candidate) => boolean;
  /** Patterns that nothing matched. */
  readonly unused: () => string[];
}

export function createChoice(patterns: readonly string[] | undefined): Choice {
  if (patterns === undefined || patterns.length === 0) return { takes: () => true, unused: () => [] };
  const used = new Set<string>();
  const takes = ({ label, route, tool, tags }: Candidate): boolean => {
    const texts = [label, route, ...(tool === undefined ? [] : [tool]), ...tags.map((tag) => `tag:${tag}`)];
    let taken = false;
    for (const pattern of patterns) {
      if (!texts.some((text) => matches(pattern, text))) continue;
      used.add(pattern);
      taken = true;
    }
    return taken;
  };
  return { takes, unused: () => patterns.filter((pattern) => !used.has(pattern)) };
}

/** Upper and lower case are the same: `get /pets*` is what people type. */
export function matches(pattern: string, text: string): boolean {
  return toWildcard(pattern.toLowerCase())(text.toLowerCase());
}
