// Echo server on stdin and stdout: `node stdio.mjs legacy|modern`.
//
// Reads and writes block: with one client and nothing else to do, no event loop is the fastest one. All answers to what
// one read brought leave in one write.

import { readSync, writeSync } from "node:fs";
import { createEcho } from "./echo.mjs";

const answer = createEcho(process.argv[2] ?? "legacy");
let input = Buffer.allocUnsafe(1 << 20);
let end = 0;

for (let read; (read = readSync(0, input, end, input.length - end, null)) > 0;) {
  end += read;
  const filled = input.subarray(0, end);
  let from = 0;
  let output = "";
  for (let newline; (newline = filled.indexOf(10, from)) !== -1; from = newline + 1) {
    const line = answer(input.latin1Slice(from, newline));
    if (line !== undefined) output += line + "\n";
  }
  input.copyWithin(0, from, end);
  end -= from;
  if (end === input.length) input = Buffer.concat([input], input.length * 2);
  if (output !== "") write(Buffer.from(output, "latin1"));
}

function write(bytes) {
  for (let written = 0; written < bytes.length;) written += writeSync(1, bytes, written);
}
