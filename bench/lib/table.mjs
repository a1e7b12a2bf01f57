/** Aligns rows of cells: the first column to the left, the others to the right. A string row is printed as it is. */
export function formatTable(header, rows) {
  const cells = [header, ...rows.filter(Array.isArray)];
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const line = (row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])))
      .join("  ");
  return [line(header), ...rows.map((row) => (Array.isArray(row) ? line(row) : row))].join("\n");
}

const integer = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** Three digits are as many as a noisy machine deserves. */
export function formatNumber(value) {
  return value < 100 ? value.toFixed(1) : integer.format(value);
}

export function formatPercent(share) {
  return `${Math.round(share * 100)} %`;
}
