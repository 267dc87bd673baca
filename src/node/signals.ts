import type { Runtime } from "../runtime/api.ts";
import type { Server } from "./serve.ts";

/** What `drainOnSignals` takes. */
export interface DrainOptions {
  /** How long running turns may take to end; what is cut continues after the next start. Default 5 s. */
  readonly drainMs?: number;
  /** How the process ends. Default `process.exit`. */
  readonly exit?: (code: number) => void;
}

/**
 * Ends the process in good order when it is told to: nothing new is taken, streams end so that their
 * readers come back, running turns get some time. A second signal ends it at once. Returns how to stop
 * listening.
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
