/** The time of day with seconds, as people in the browser's language write it. */
export function clockTime(time: number | string): string {
  return CLOCK.format(new Date(time));
}

/** The time of day of a moment; on another day than today also its date. */
export function momentTime(time: number | string, now: number = Date.now()): string {
  const day = DAY.format(new Date(time));
  const clock = clockTime(time);
  return day === DAY.format(now) ? clock : `${day}, ${clock}`;
}

/** The exact date and time, for titles. */
export function exactTime(time: number | string): string {
  return EXACT.format(new Date(time));
}

/** How long ago something was; from a day on, the date. */
export function timeAgo(time: number | string, now: number = Date.now()): string {
  const at = new Date(time).getTime();
  const seconds = Math.round((now - at) / 1_000);
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`;
  return DAY.format(at);
}

/** How long until a moment; from a day on, the date. */
export function timeUntil(time: number | string, now: number = Date.now()): string {
  const at = new Date(time).getTime();
  if (at - now < 1_000) return "now";
  return at - now < 86_400_000 ? `in ${duration(at - now)}` : DAY.format(at);
}

/** A duration in the two largest units that it has, for example `340 ms`, `1.2 s`, `11 min 4 s`, `3 h 20 min`. */
export function duration(ms: number): string {
  if (!(ms > 0)) return "0 ms";
  if (ms < 1) return "< 1 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toString()} s`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  for (const [name, size, part, partSize] of UNITS) {
    if (seconds < size) continue;
    const rest = Math.floor((seconds % size) / partSize);
    const whole = `${Math.floor(seconds / size)} ${name}`;
    return rest === 0 ? whole : `${whole} ${rest} ${part}`;
  }
  return `${seconds} s`;
}

const UNITS = [
  ["d", 86_400, "h", 3_600],
  ["h", 3_600, "min", 60],
  ["min", 60, "s", 1],
] as const;

const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
