// Search: a scan over the index in memory, ranked by name, keywords and description.

import { findLookAlikes } from "./look-alike.ts";
import { type RegistryIndex, scopeOf } from "./types.ts";
import { resolveVersion } from "./versions.ts";

export interface SearchResult {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly author: string;
  readonly publishedAt: string;
  readonly downloads?: number;
  readonly deprecated?: string;
  /** The older scope that the scope of this package looks like. */
  readonly looksLike?: string;
  readonly score: number;
}

export interface SearchOptions {
  /** 1 to 100; 20 by default. */
  readonly limit?: number;
  readonly offset?: number;
}

export interface SearchPage {
  readonly total: number;
  readonly results: readonly SearchResult[];
}

/** Prepared texts of one index. A registry prepares them once per change. */
export interface SearchIndex {
  search(query: string, options?: SearchOptions): SearchPage;
}

interface Entry extends Omit<SearchResult, "score"> {
  readonly lowerName: string;
  /** The name without scope. */
  readonly ownName: string;
  readonly words: readonly string[];
  readonly lowerKeywords: readonly string[];
  readonly lowerDescription: string;
}

const MAX_QUERY = 200;
const MAX_TERMS = 8;

export function createSearch(
  index: Pick<RegistryIndex, "packages">,
  downloads: (name: string) => number | undefined = () => undefined,
): SearchIndex {
  const alike = findLookAlikes(index);
  const entries = Object.entries(index.packages).flatMap(([name, found]): Entry[] => {
    const version = resolveVersion(found);
    const entry = version === undefined ? undefined : found.versions[version];
    if (version === undefined || entry === undefined) return [];
    const looksLike = alike.get(scopeOf(name) ?? "");
    const ownName = name.slice(name.indexOf("/") + 1);
    return [
      {
        ...{ name, version, description: found.description, keywords: found.keywords, author: found.author },
        publishedAt: entry.publishedAt,
        ...(entry.status === "deprecated" ? { deprecated: entry.message ?? "deprecated" } : {}),
        ...(looksLike === undefined ? {} : { looksLike: `@${looksLike}` }),
        ...{ lowerName: name, ownName, words: ownName.split("-") },
        lowerKeywords: found.keywords.map((word) => word.toLowerCase()),
        lowerDescription: found.description.toLowerCase(),
      },
    ];
  });
  return {
    search(query, { limit = 20, offset = 0 } = {}) {
      const terms = toTerms(query);
      const scored: { entry: Entry; score: number; count: number }[] = [];
      for (const entry of entries) {
        const score = scoreOf(entry, terms);
        if (score > 0) scored.push({ entry, score, count: downloads(entry.name) ?? 0 });
      }
      scored.sort((a, b) => b.score - a.score || b.count - a.count || (a.entry.name < b.entry.name ? -1 : 1));
      const results = scored.slice(offset, offset + limit).map(({ entry, score }): SearchResult => {
        const { lowerName, ownName, words, lowerKeywords, lowerDescription, ...shown } = entry;
        void [lowerName, ownName, words, lowerKeywords, lowerDescription];
        const counted = downloads(entry.name);
        return { ...shown, ...(counted === undefined ? {} : { downloads: counted }), score };
      });
      return { total: scored.length, results };
    },
  };
}

function toTerms(query: string): string[] {
  return query
    .slice(0, MAX_QUERY)
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((term) => term !== "")
    .slice(0, MAX_TERMS);
}

/** Every term must occur. Without terms, all packages match. */
function scoreOf(entry: Entry, terms: readonly string[]): number {
  let score = 1;
  for (const term of terms) {
    const own = scoreTerm(entry, term);
    if (own === 0) return 0;
    score += own;
  }
  if (entry.deprecated !== undefined) score /= 4;
  if (entry.looksLike !== undefined) score /= 4;
  return score;
}

function scoreTerm(entry: Entry, term: string): number {
  const { lowerName, ownName, words, lowerKeywords, lowerDescription } = entry;
  if (lowerName === term || ownName === term || ownName === `${term}-mcp`) return 100;
  let score = 0;
  if (words.includes(term)) score += 40;
  else if (ownName.startsWith(term)) score += 30;
  else if (lowerName.includes(term)) score += 15;
  if (lowerKeywords.includes(term)) score += 25;
  const at = lowerDescription.indexOf(term);
  if (at >= 0) {
    const isWord = !isLetter(lowerDescription[at - 1]) && !isLetter(lowerDescription[at + term.length]);
    score += isWord ? 10 : 4;
  }
  return score;
}

function isLetter(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}]/u.test(character);
}
