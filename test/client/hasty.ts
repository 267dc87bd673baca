import { nodeEnvironment } from "troupe/node";
import type { Environment } from "../../src/ports/environment.ts";

/** The system environment with a clock that runs `times` as fast: with 20, a wait of 2,000 ms takes 100 ms. */
export function hastyEnvironment(times = 20): Environment {
  const real = nodeEnvironment();
  return {
    ...real,
    monotonic: () => real.monotonic() * times,
    timer: (ms, fire) => real.timer(ms / times, fire),
  };
}
