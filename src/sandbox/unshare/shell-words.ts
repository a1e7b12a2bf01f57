// Words of a POSIX shell script. Every value becomes one word in single quotes, where no character has a meaning.

export function quote(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

export function command(...words: readonly string[]): string {
  return words.map(quote).join(" ");
}

/** Writes a text to a file without starting a program, as `printf` is a part of the shell. */
export function writeText(text: string, file: string): string {
  return `printf %s ${quote(text)} > ${quote(file)}`;
}
