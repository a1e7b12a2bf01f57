// Parser of WWW-Authenticate: one header may hold several challenges, and each has its own parameters.

export interface Challenge {
  /** In lower case: `bearer`, `basic`, `dpop`. */
  readonly scheme: string;
  /** Names are in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

const MAX_CHARACTERS = 16 * 1024;

/** Reads every character once, because the text comes from a stranger. Texts that are no challenge are skipped. */
export function parseChallenges(header: string): Challenge[] {
  const text = header.slice(0, MAX_CHARACTERS);
  const found: { scheme: string; parameters: Map<string, string> }[] = [];
  let position = 0;
  const read = (pattern: RegExp): string => {
    pattern.lastIndex = position;
    const [matched = ""] = pattern.exec(text) ?? [];
    position += matched.length;
    return matched;
  };
  while (position < text.length) {
    read(/[\s,]+/y);
    const word = read(/[^\s,="]+/y).toLowerCase();
    const isParameter = read(/\s*=\s*/y) !== "";
    if (isParameter) {
      const quoted = read(/"(?:[^"\\]|\\.)*"?/sy);
      const value = quoted === "" ? read(/[^\s,]*/y) : unquoted(quoted);
      found.at(-1)?.parameters.set(word, value);
    } else if (word !== "") {
      found.push({ scheme: word, parameters: new Map() });
    } else {
      position += 1;
    }
  }
  return found;
}

function unquoted(quoted: string): string {
  return quoted.replace(/^"|"$/g, "").replaceAll(/\\(.)/gs, "$1");
}

/** The parameters of a server's Bearer or DPoP challenge. */
export interface TokenChallenge {
  readonly resourceMetadata: string | undefined;
  readonly scope: string | undefined;
  readonly error: string | undefined;
  /** The server accepts tokens that are bound to a key (RFC 9449). */
  readonly acceptsDpop: boolean;
}

export function tokenChallenge(header: string | undefined): TokenChallenge {
  const challenges = parseChallenges(header ?? "").filter(({ scheme }) => /^(?:bearer|dpop)$/.test(scheme));
  const value = (name: string): string | undefined =>
    challenges.map(({ parameters }) => parameters.get(name)).find((one) => one !== undefined);
  return {
    ...{ resourceMetadata: value("resource_metadata"), scope: value("scope"), error: value("error") },
    acceptsDpop: challenges.some(({ scheme }) => scheme === "dpop"),
  };
}
