// Parser of .env files. It reports lines that it cannot parse, which `util.parseEnv` does not, and expands no variables.

export interface DotenvProblem {
  readonly line: number;
  readonly message: string;
}

export interface DotenvText {
  readonly values: ReadonlyMap<string, string>;
  readonly problems: readonly DotenvProblem[];
}

const ASSIGNMENT = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=[ \t]*/;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/** Supports `NAME=value`, `export`, `#` comments, 'single' quotes (literal) and "double" quotes (escapes, several lines). The last value of a name wins. */
export function parseDotenv(text: string): DotenvText {
  const values = new Map<string, string>();
  const problems: DotenvProblem[] = [];
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] as string;
    if (/^\s*(#|$)/.test(line)) continue;
    const number = index + 1;
    const found = ASSIGNMENT.exec(line);
    if (found === null) {
      problems.push({ line: number, message: "This line is not NAME=value." });
      continue;
    }
    const name = found[1] as string;
    const rest = line.slice(found[0].length);
    const quote = rest[0];
    if (quote !== '"' && quote !== "'") {
      values.set(name, plainValue(rest));
      continue;
    }
    const quoted = readQuoted(lines, index, rest.slice(1), quote);
    if (quoted === undefined) {
      problems.push({ line: number, message: `The ${quote} of ${name} is not closed.` });
      continue;
    }
    index = quoted.last;
    if (!/^\s*(#.*)?$/.test(quoted.after)) {
      problems.push({
        line: quoted.last + 1,
        message: `There is text after the closing ${quote} of ${name}.`,
      });
      continue;
    }
    values.set(name, quoted.value);
  }
  return { values, problems };
}

function plainValue(rest: string): string {
  return (rest.startsWith("#") ? "" : rest.replace(/\s#.*$/, "")).trim();
}

interface Quoted {
  readonly value: string;
  /** Index of the last line of the value. */
  readonly last: number;
  readonly after: string;
}

function readQuoted(
  lines: readonly string[],
  first: number,
  start: string,
  quote: string,
): Quoted | undefined {
  let value = "";
  let line = start;
  for (let last = first; ;) {
    for (let at = 0; at < line.length; at += 1) {
      const char = line[at] as string;
      if (char === quote) return { value, last, after: line.slice(at + 1) };
      if (char === "\\" && quote === '"' && at + 1 < line.length) {
        at += 1;
        const escaped = line[at] as string;
        value += ESCAPES[escaped] ?? (/["\\$`]/.test(escaped) ? escaped : `\\${escaped}`);
      } else {
        value += char;
      }
    }
    last += 1;
    // Single quotes end on their line, so that an apostrophe does not swallow the rest of the file.
    if (quote === "'" || last >= lines.length) return undefined;
    line = lines[last] as string;
    value += "\n";
  }
}
