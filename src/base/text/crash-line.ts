// Lines at the end of a crash report that explain nothing.

const TRAILER = /^(?:Node\.js v[\d.]+|[\s}\])]*)$|^\s+at /;

/** Whether a crash report ends with such a line: the version of Node.js, closing brackets, a frame of the stack. */
export function isCrashTrailer(line: string): boolean {
  return TRAILER.test(line);
}

/** The last line of a crash report with a meaning, unless a message contains one of its lines already; else an empty text. */
export function lineBeside(message: string, stderr: string): string {
  const lines = stderr.split("\n").filter((line) => !isCrashTrailer(line.trimEnd()));
  const texts = lines.map((line) => line.trim());
  // A message contains the beginning of a long line.
  return texts.some((text) => message.includes(text.slice(0, 150))) ? "" : (texts.at(-1) ?? "");
}
