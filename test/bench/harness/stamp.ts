/** The time in a text, in milliseconds; the clocks of all processes of the machine agree on it. */
export function toStamp(): string {
  return (now() % CYCLE_MS).toFixed(1);
}

/** The milliseconds since a stamp was made, if that was less than an hour ago. */
export function sinceStamp(stamp: string): number {
  const ms = (((now() - Number(stamp)) % CYCLE_MS) + CYCLE_MS) % CYCLE_MS;
  // The clocks of two processes differ by fractions of a millisecond.
  return ms > CYCLE_MS / 2 ? 0 : ms;
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

/** Keeps stamps short. */
const CYCLE_MS = 3_600_000;
