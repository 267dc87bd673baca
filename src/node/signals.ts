import { setTimeout } from "node:timers/promises";
import { AgentError } from "../errors.ts";
import type { Runtime } from "../runtime/api.ts";
import type { Server } from "./serve.ts";

/** How a process ends on a signal. */
export interface DrainOptions {
  /**
   * The time for running turns to end; interrupted ones continue on another node or after the next start. Where other nodes take
   * requests, the server listens for all of this time, so that proxies notice that `/readyz` fails before connections do: it is
   * longer than two of their checks. From 0 to 600,000. Default 5 s.
   */
  readonly drainMs?: number;
  /** Does what comes when both are closed, for example sends the last metrics. Default: nothing. */
  readonly finish?: () => Promise<void>;
  /** Ends the process. Default `process.exit`. */
  readonly exit?: (code: number) => void;
}

/**
 * Stops a server and its runtime properly on a signal, then ends the process: no new requests, streams end so
 * that readers reconnect, running turns get some time. Where other nodes take requests, all of that comes after `drainMs`, in which
 * `/readyz` fails and every request is still answered. With several servers, the process ends after all of them.
 * A second signal ends it at once. Returns a function that removes the server again.
 */
export function drainOnSignals(
  server: Pick<Server, "close"> & Partial<Pick<Server, "drain">>,
  runtime: Runtime,
  { drainMs = 5_000, finish = async () => {}, exit = exitProcess }: DrainOptions = {},
): () => void {
  if (!(drainMs >= 0 && drainMs <= MOST_DRAIN_MS))
    throw new AgentError("invalid_request", `drainMs is ${drainMs}, not from 0 to ${MOST_DRAIN_MS}`);
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
  readonly server: Pick<Server, "close"> & Partial<Pick<Server, "drain">>;
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
  void Promise.allSettled(drained.map(stop)).then((ends) => {
    end(ends.every(({ status }) => status === "fulfilled") ? 0 : FAILED);
  });
}

async function stop({ server, runtime, drainMs, finish }: Drained): Promise<void> {
  const stopping = runtime.drain();
  server.drain?.();
  const isReplaced = await stopping;
  if (isReplaced) await setTimeout(drainMs);
  const closed = server.close({ graceMs: drainMs });
  // The turns have had their time; the last answers get some too.
  if (isReplaced) await Promise.race([closed, setTimeout(ANSWER_MS, undefined, { ref: false })]);
  const ends = await Promise.allSettled([closed, runtime.close({ drainMs: isReplaced ? 0 : drainMs })]);
  await finish();
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

const MOST_DRAIN_MS = 600_000;

/** How long the last answers may take before the runtime refuses what they still ask of it, in milliseconds. */
const ANSWER_MS = 1_000;

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
const INTERRUPTED = 130;
const FAILED = 1;
