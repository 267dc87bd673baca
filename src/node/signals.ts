import type { Runtime } from "../runtime/api.ts";
import type { Server } from "./serve.ts";

export interface DrainOptions {
  /** Maximum time for running turns to end; interrupted ones continue after the next start. Default 5 s. */
  readonly drainMs?: number;
  /** Ends the process. Default `process.exit`. */
  readonly exit?: (code: number) => void;
}

/**
 * Stops the process properly on a signal: no new requests, streams end so that readers reconnect, running
 * turns get some time. A second signal ends the process at once. Returns a function that removes the
 * handlers.
 */
export function drainOnSignals(
  server: Server,
  runtime: Runtime,
  { drainMs = 5_000, exit = (code) => process.exit(code) }: DrainOptions = {},
): () => void {
  let isDraining = false;
  const react = (): void => {
    if (isDraining) {
      exit(INTERRUPTED);
      return;
    }
    isDraining = true;
    void Promise.allSettled([server.close({ graceMs: drainMs }), runtime.close({ drainMs })]).then((ends) => {
      exit(ends.every(({ status }) => status === "fulfilled") ? 0 : FAILED);
    });
  };
  for (const signal of SIGNALS) process.on(signal, react);
  return () => {
    for (const signal of SIGNALS) process.off(signal, react);
  };
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
const INTERRUPTED = 130;
const FAILED = 1;
