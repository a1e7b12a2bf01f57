// A word for a command line that is shown to be copied.

export function shellWord(word: string): string {
  return /^[\w./:@~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
