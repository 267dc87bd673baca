import { monitorEventLoopDelay } from "node:perf_hooks";

/** The port to listen on. */
export const PORT: number = Number(process.env["PORT"] ?? 4000);

/** The number of texts in a turn. */
export const DELTAS: number = Number(process.env["DELTAS"] ?? 100);

/** Waits for one turn of the event loop. */
export const tick = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** On SIGUSR2 collects garbage and prints the memory use; on SIGTERM ends after `close`. */
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
