/** The value below which the given share of the sorted values lies. */
export function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** How far the values lie apart, as a share of their median. */
export function spread(values) {
  return (Math.max(...values) - Math.min(...values)) / median(values);
}
