// Finds circles in a graph without recursion, whatever its size.

/** True when some way along the edges comes back to where it began. */
export function isRound(edges: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const open = new Map([...edges].map(([from, targets]) => [from, new Set(targets)]));
  const into = new Map<string, string[]>();
  for (const [from, targets] of open)
    for (const target of targets) into.set(target, [...(into.get(target) ?? []), from]);
  const ends = [...into.keys()].filter((name) => !open.has(name));
  // What leads nowhere is taken away again and again; only circles, and what leads into them, stay.
  for (let end = ends.pop(); end !== undefined; end = ends.pop()) {
    for (const from of into.get(end) ?? []) {
      const targets = open.get(from);
      targets?.delete(end);
      if (targets?.size !== 0) continue;
      open.delete(from);
      ends.push(from);
    }
  }
  return open.size > 0;
}
