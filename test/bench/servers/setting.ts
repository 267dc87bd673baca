import { monitorEventLoopDelay } from "node:perf_hooks";
import { getHeapSpaceStatistics } from "node:v8";
import { toStamp } from "../harness/stamp.ts";

/** The port to listen on. */
export const PORT: number = Number(process.env["PORT"] ?? 4000);

/** The number of texts in a turn. */
export const DELTAS: number = Number(process.env["DELTAS"] ?? 100);

/** How long texts gather before they are written together, in milliseconds. 0: each is written at once. */
export const GATHER_MS: number = Number(process.env["GATHER_MS"] ?? 0);

/** The longest time for which texts of the runtime gather, in milliseconds; `undefined` for its default. */
export const WINDOW_MS: number | undefined =
  process.env["WINDOW_MS"] === undefined ? undefined : Number(process.env["WINDOW_MS"]);

/** Whether other protocols are served besides the native one. */
export const WIRES: boolean = process.env["WIRES"] !== undefined;

/** The server that the program of an editor is a client of. */
export const SERVER_URL: string = process.env["SERVER_URL"] ?? "http://127.0.0.1:4000";

/** The collector that gets the traces; `undefined` for none. */
export const COLLECTOR: string | undefined = process.env["COLLECTOR"];

/** The lease of a node on its runs: a machine with other work may let a node stand still, and these turns cannot be replayed, as their texts have the time in them. */
export const NODE_LEASE_MS = 15_000;

/** The input of a turn whose texts do not come at a pace, so that a server is warm sooner. */
export const WARM_UP = "warm up";

/** Waits for the time of the next text of a turn with this input: `PACE_MS`, or one turn of the event loop. */
export const tick = (input?: string): Promise<void> =>
  new Promise((resolve) => {
    if (PACE_MS > 0 && input !== WARM_UP) setTimeout(resolve, PACE_MS);
    else setImmediate(resolve);
  });

/** The content of a text. One that comes at a pace has about four tokens: its number, and the time when it was said. */
export const toContent = (input: string, index: number): string =>
  PACE_MS > 0 ? `at ${index} ${toStamp()}` : `${input} ${index}`;

/** Whether a tool is called before this text: in the middle of a turn at a pace. */
export const callsTool = (index: number): boolean => PACE_MS > 0 && index === Math.floor(DELTAS / 2);

const PACE_MS = Number(process.env["PACE_MS"] ?? 0);

/** On SIGUSR2 collects garbage and prints the memory use; on SIGTERM ends after `close`. */
export function obeySignals(close: () => Promise<unknown> = async () => undefined): void {
  const delay =
    process.env["WATCH_LOOP"] === undefined ? undefined : monitorEventLoopDelay({ resolution: 1 });
  delay?.enable();
  process.on("SIGUSR2", () => {
    const loopDelayP99Ms = delay && delay.percentile(99) / 1e6;
    globalThis.gc?.();
    globalThis.gc?.();
    const memory = { ...process.memoryUsage(), young: youngBytes() };
    console.log(`MEM ${JSON.stringify({ ...memory, loopDelayP99Ms })}`);
    delay?.reset();
  });
  process.on("SIGTERM", () => void close().finally(() => process.exit(0)));
}

/** The resident bytes of the heap's young generation. */
function youngBytes(): number {
  return getHeapSpaceStatistics()
    .filter(({ space_name: name }) => name.startsWith("new_"))
    .reduce((sum, { physical_space_size: bytes }) => sum + bytes, 0);
}
