import { onTestFinished, vi } from "vitest";

/** The clocks of this process, which stand still. */
export interface StoppedClocks {
  /** Moves them by milliseconds. */
  advance(ms: number): void;
}

/**
 * Stops the clocks of this process until the end of the test. Timers run on, so that what looks at a clock now and then sees
 * that it was moved.
 */
export function stopClocks(): StoppedClocks {
  let aheadMs = 0;
  for (const clock of [Date, performance]) {
    const stopped = clock.now();
    const spy = vi.spyOn(clock, "now").mockImplementation(() => stopped + aheadMs);
    onTestFinished(() => {
      spy.mockRestore();
    });
  }
  return {
    advance(ms) {
      aheadMs += ms;
    },
  };
}
