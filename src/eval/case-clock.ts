import type { Environment } from "../ports/environment.ts";

/** The clock of a case. */
export interface CaseClock extends Environment {
  /** Moves the clock forward to a time, and rings what is due by then. A time that is over changes nothing. */
  skipTo(atMs: number): void;
}

/** An alarm that has not rung. */
interface Alarm {
  readonly atMs: number;
  readonly ring: () => void;
  stopTimer: () => void;
}

/**
 * Creates a clock that begins at the time of the recording and runs as the real one, but what is waited for long is skipped. So an
 * agent sees the dates that it saw, and the time limits of models that are asked hold.
 */
export function createCaseClock(real: Environment, startMs: number = real.now()): CaseClock {
  const alarms = new Set<Alarm>();
  let aheadMs = startMs - real.now();
  const now = (): number => real.now() + aheadMs;
  const arm = (alarm: Alarm): void => {
    alarm.stopTimer = real.timer(Math.max(alarm.atMs - now(), 0), () => {
      alarms.delete(alarm);
      alarm.ring();
    });
  };
  return {
    ...real,
    now,
    alarm(atMs, ring) {
      const alarm: Alarm = { atMs, ring, stopTimer() {} };
      alarms.add(alarm);
      arm(alarm);
      return () => {
        alarms.delete(alarm);
        alarm.stopTimer();
      };
    },
    skipTo(atMs) {
      const byMs = atMs - now();
      if (!(byMs > 0)) return;
      aheadMs += byMs;
      for (const alarm of [...alarms].toSorted((one, other) => one.atMs - other.atMs)) {
        alarm.stopTimer();
        arm(alarm);
      }
    },
  };
}
