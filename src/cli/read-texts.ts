// The texts of files, to show lines of them: each read once.

import { readFileSync } from "node:fs";

export function readTexts(): (file: string) => string | undefined {
  const texts = new Map<string, string | undefined>();
  return (file) => {
    if (!texts.has(file)) texts.set(file, read(file));
    return texts.get(file);
  };
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
