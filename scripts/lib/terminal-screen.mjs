// Minimal terminal emulator: turns the bytes that a program writes to a terminal into lines of styled text.
// It supports what `portolan` and its prompts use: colours, carriage return, erase and cursor movement.

const PLAIN = { color: "", isBold: false, isDim: false };

/** Returns one array of `{ text, color, isBold, isDim }` runs for each line. */
export function renderScreen(bytes) {
  const rows = [[]];
  let [row, column, style] = [0, 0, PLAIN];

  const put = (character) => {
    while (rows.length <= row) rows.push([]);
    while (rows[row].length < column) rows[row].push({ character: " ", style: PLAIN });
    rows[row][column] = { character, style };
    column += 1;
  };
  const control = (parameters, name) => {
    const count = Number(parameters.replace("?", "")) || 1;
    if (name === "m") style = parameters.split(";").reduce(applyStyle, style);
    else if (name === "A") row = Math.max(0, row - count);
    else if (name === "B") row += count;
    else if (name === "C") column += count;
    else if (name === "D") column = Math.max(0, column - count);
    else if (name === "G") column = count - 1;
    else if (name === "K") rows[row]?.splice(parameters === "2" ? 0 : column);
    else if (name === "J") {
      rows[row]?.splice(column);
      rows.splice(row + 1);
    }
  };

  // oxlint-disable-next-line no-control-regex -- a terminal is made of control characters
  for (const [part, parameters, name] of bytes.matchAll(/\x1b\[([\d;?]*)([A-Za-z])|\x1b.|[^]/gu)) {
    if (name !== undefined) control(parameters, name);
    else if (part === "\n") row += 1;
    else if (part === "\r") column = 0;
    else if (part >= " " && part.length <= 2 && !part.startsWith("\x1b")) put(part);
  }
  return Array.from(rows, (cells) => toRuns(cells ?? []));
}

const COLORS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

function applyStyle(style, code) {
  const number = Number(code);
  if (number === 0) return PLAIN;
  if (number === 1) return { ...style, isBold: true };
  if (number === 2) return { ...style, isDim: true };
  if (number === 22) return { ...style, isBold: false, isDim: false };
  if (number === 39) return { ...style, color: "" };
  if (number >= 30 && number <= 37) return { ...style, color: COLORS[number - 30] };
  if (number >= 90 && number <= 97) return { ...style, color: COLORS[number - 90] };
  return style;
}

function toRuns(cells) {
  const runs = [];
  for (const { character, style } of cells) {
    const last = runs.at(-1);
    if (last !== undefined && last.style === style) last.text += character;
    else runs.push({ text: character, style });
  }
  return runs.map(({ text, style }) => ({ text, ...style }));
}
