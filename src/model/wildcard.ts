// Patterns in which `*` stands for anything. Each part is looked for once, so that no pattern takes long.

export function toWildcard(pattern: string): (text: string) => boolean {
  const [first = "", ...middle] = pattern.split("*");
  const last = middle.pop();
  if (last === undefined) return (text) => text === pattern;
  return (text) => {
    if (!text.startsWith(first)) return false;
    let at = first.length;
    for (const part of middle) {
      const found = text.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return text.length - last.length >= at && text.endsWith(last);
  };
}
