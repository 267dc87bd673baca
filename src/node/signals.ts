import type { Runtime } from "../runtime/api.ts";
import type { Server } from "./serve.ts";

/** How a process ends on a signal. */
export interface DrainOptions {
  /** Maximum time for running turns to end; interrupted ones continue after the next start. Default 5 s. */
  readonly drainMs?: number;
  /** Does what comes when both are closed, for example sends the last metrics. Default: nothing. */
  readonly finish?: () => Promise<void>;
  /** Ends the process. Default `process.exit`. */
  readonly exit?: (code: number) => void;
}

/**
 * Stops a server and its runtime properly on a signal, then ends the process: no new requests, streams end so
 * that readers reconnect, running turns get some time. With several servers, the process ends after all of them.
 * A second signal ends it at once. Returns a function that removes the server again.
 */
export function drainOnSignals(
  server: Pick<Server, "close">,
  runtime: Runtime,
  { drainMs = 5_000, finish = async () => {}, exit = exitProcess }: DrainOptions = {},
): () => void {
  const drained = { server, runtime, drainMs, finish, exit };
  if (all.size === 0) for (const signal of SIGNALS) process.on(signal, drain);
  all.add(drained);
  return () => {
    all.delete(drained);
    // While the process ends, a second signal must still find the handler.
    if (all.size === 0 && !isDraining) for (const signal of SIGNALS) process.off(signal, drain);
  };
}

interface Drained extends Required<DrainOptions> {
  readonly server: Pick<Server, "close">;
  readonly runtime: Runtime;
}

/** What a signal stops. Signals reach the whole process, so there is one list. */
const all = new Set<Drained>();
let isDraining = false;

const exitProcess = (code: number): void => process.exit(code);

function drain(): void {
  const drained = [...all];
  const end = (code: number): void => new Set(drained.map(({ exit }) => exit)).forEach((exit) => exit(code));
  if (isDraining) {
    end(INTERRUPTED);
    return;
  }
  isDraining = true;
  const stops = drained.map(async ({ server, runtime, drainMs, finish }) => {
    const ends = await Promise.allSettled([server.close({ graceMs: drainMs }), runtime.close({ drainMs })]);
    await finish();
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  });
  void Promise.allSettled(stops).then((ends) => {
    end(ends.every(({ status }) => status === "fulfilled") ? 0 : FAILED);
  });
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
const INTERRUPTED = 130;
const FAILED = 1;
