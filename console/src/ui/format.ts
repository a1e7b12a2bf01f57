// Texts for numbers and times.

const UNITS = ["B", "KB", "MB", "GB"] as const;

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

export function formatMs(ms: number): string {
  if (ms === 0) return "0 ms";
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : formatAge(ms);
}

export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

/** Created once, because that takes longer than hundreds of uses. */
const TIME = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const MINUTE = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit" });

const DAY = new Intl.DateTimeFormat([], { dateStyle: "medium", timeStyle: "short" });

export function formatDay(time: string): string {
  return DAY.format(new Date(time));
}

export function formatTime(time: string | number): string {
  return TIME.format(new Date(time));
}

/** The time of an end; with the day if it is another one. */
export function formatUntil(time: string): string {
  const at = new Date(time);
  return at.toDateString() === new Date().toDateString() ? MINUTE.format(at) : DAY.format(at);
}

export function formatMinute(time: number): string {
  return MINUTE.format(time);
}

export function formatCount(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** The first sentence, for lists. */
export function firstLine(text: string | undefined, max = 160): string {
  const [line = ""] = (text ?? "").trim().split(/\n|(?<=\.)\s/, 1);
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
