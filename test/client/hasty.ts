import { nodeEnvironment } from "troupe/node";
import type { Environment } from "../../src/ports/environment.ts";

/** How many times as fast time goes. */
const TIMES = 20;

/** The machine as it is, but for its clock, which is fast: what waits 100 ms here has waited 2,000. */
export function hastyEnvironment(): Environment {
  const real = nodeEnvironment();
  return {
    ...real,
    monotonic: () => real.monotonic() * TIMES,
    timer: (ms, fire) => real.timer(ms / TIMES, fire),
  };
}
