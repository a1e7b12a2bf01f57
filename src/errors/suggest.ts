// Did you mean: the known names nearest to what was typed.

const MAX_LENGTH = 80;
const MAX_CANDIDATES = 5_000;

/** Up to `limit` names near `typed`, nearest first; none when nothing is near. */
export function suggest(typed: string, names: Iterable<string>, limit = 3): string[] {
  const wanted = fold(typed);
  if (wanted === "" || wanted.length > MAX_LENGTH) return [];
  const near: { name: string; distance: number }[] = [];
  let seen = 0;
  for (const name of names) {
    seen += 1;
    if (seen > MAX_CANDIDATES) break;
    if (name.length > MAX_LENGTH * 2) continue;
    const folded = fold(name);
    const allowed = Math.min(wanted.length - 1, Math.max(1, Math.floor(Math.max(wanted.length, folded.length) * 0.34)));
    const distance = editDistance(wanted, folded, allowed);
    if (distance <= allowed) near.push({ name, distance });
    else if (wanted.length >= 3 && folded.includes(wanted)) near.push({ name, distance: 1.5 });
  }
  near.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  return near.slice(0, limit).map((entry) => entry.name);
}

/** `Did you mean "a" or "b"?`, or nothing. */
export function didYouMean(typed: string, names: Iterable<string>): string | undefined {
  const found = suggest(typed, names).map((name) => JSON.stringify(name));
  if (found.length === 0) return undefined;
  const last = found.pop() as string;
  return `Did you mean ${found.length === 0 ? last : `${found.join(", ")} or ${last}`}?`;
}

function fold(name: string): string {
  return name.toLowerCase().replace(/[-_. /]+/g, "");
}

/** Edits, with a swap of neighbours as one; anything past `max` is reported as `max + 1`. */
export function editDistance(a: string, b: string, max: number = Number.POSITIVE_INFINITY): number {
  if (Math.abs(a.length - b.length) > max) return max + 1;
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    let best = i;
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let value = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) value = Math.min(value, (before[j - 2] ?? 0) + 1);
      current.push(value);
      best = Math.min(best, value);
    }
    if (best > max) return max + 1;
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
