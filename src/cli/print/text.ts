/** A text as a part of one line. */
export function toLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** A text as one word of a command that a person may copy into a shell. */
export function toWord(text: string): string {
  return /^[\w.:=@/…-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A duration for people. */
export function toDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 120) return `${minutes} m`;
  const hours = Math.round(ms / 3_600_000);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
}

/** The time of day of a timestamp, or also the day if that is not today. */
export function toTime(timestamp: string, now: Date = new Date()): string {
  const at = new Date(timestamp);
  const pad = (part: number, digits = 2): string => String(part).padStart(digits, "0");
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  if (at.toDateString() === now.toDateString()) return time;
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${time}`;
}
