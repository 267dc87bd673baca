import { monitorEventLoopDelay } from "node:perf_hooks";

/** The port to listen on. */
export const PORT: number = Number(process.env["PORT"] ?? 4000);

/** How many texts a turn has. */
export const DELTAS: number = Number(process.env["DELTAS"] ?? 100);

/** Lets the event loop go round once. */
export const tick = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** On SIGUSR2 collects the garbage and prints what the process holds; ends on SIGTERM, after `close`. */
export function obeySignals(close: () => Promise<unknown> = async () => undefined): void {
  const delay =
    process.env["WATCH_LOOP"] === undefined ? undefined : monitorEventLoopDelay({ resolution: 1 });
  delay?.enable();
  process.on("SIGUSR2", () => {
    const loopDelayP99Ms = delay && delay.percentile(99) / 1e6;
    globalThis.gc?.();
    globalThis.gc?.();
    console.log(`MEM ${JSON.stringify({ ...process.memoryUsage(), loopDelayP99Ms })}`);
    delay?.reset();
  });
  process.on("SIGTERM", () => void close().finally(() => process.exit(0)));
}
