import { styleText } from "node:util";

/** The style of a part of a line. */
export type Style = Parameters<typeof styleText>[0];

/** A stream that lines are printed to. */
export type Output = NodeJS.WriteStream;

/** A text in a style, if the stream is a terminal that shows it. NO_COLOR turns it off. */
export function styled(output: Output, style: Style, text: string): string {
  return styleText(style, text, { stream: output });
}

/** A text as a terminal may show it: what agents say cannot move its cursor or change its title. */
export function toVisible(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, (char) => (KEPT.has(char) ? char : "�"));
}

/** Line breaks and tabs, and the joiners of scripts and emoji. */
const KEPT: ReadonlySet<string> = new Set(["\n", "\t", "\u200c", "\u200d"]);

/** A text as a part of one line. */
export function toLine(text: string): string {
  return toVisible(text).replaceAll(/\s+/g, " ").trim();
}

/** A line that is not wider than the terminal; unchanged if the stream is none. */
export function fit(output: Output, line: string): string {
  const { columns } = output;
  return output.isTTY && columns !== undefined && line.length > columns
    ? `${line.slice(0, Math.max(columns - 1, 1))}…`
    : line;
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
