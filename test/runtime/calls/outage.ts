import { defineAgent, ModelError } from "troupe";
import type { Model } from "troupe";
import type { RequestId } from "troupe/protocol";
import { TestHost } from "../test-host.ts";

/** What happened to turns whose model was away for hours. */
export interface OutageReport {
  readonly turns: number;
  readonly answered: number;
  /** How many attempts began in the second with most of them after the model was back. */
  readonly peakPerSecond: number;
  /** How many attempts ran at once, at most. */
  readonly most: number;
  readonly attemptsWhileAway: number;
  /** The largest heap after a collection, in bytes, beyond that before the first turn. */
  readonly heapBytes: number;
}

/** The limits of the model. */
export const MODEL_LIMITS = { concurrency: 100, rate: { limit: 50, perMs: 1_000 } } as const;

const SECOND_MS = 1_000;
/** The time in which the turns begin. */
const ARRIVALS_MS = 600 * SECOND_MS;
const HOUR_MS = 3_600 * SECOND_MS;

/**
 * Lets many turns begin in the first minutes in which their model is away for hours, by a manual clock, on a log in memory, which
 * counts as memory too. The process dies in the middle. Garbage is collected for the measurement if the process can (`--expose-gc`).
 */
export async function runOutage(turns: number, hours: number): Promise<OutageReport> {
  let isAway = true;
  let running = 0;
  let most = 0;
  let attempts = 0;
  const starts = new Map<number, number>();
  const model: Model = {
    name: "remote",
    ...MODEL_LIMITS,
    async *generate() {
      attempts += 1;
      running += 1;
      most = Math.max(most, running);
      const second = Math.floor(host.environment.now() / SECOND_MS);
      if (!isAway) starts.set(second, (starts.get(second) ?? 0) + 1);
      try {
        await host.pause(2 * SECOND_MS);
        if (isAway) throw new ModelError("HTTP 503", { code: "model_unavailable" });
        yield { type: "text", text: "Here I am." };
        yield { type: "result", result: "", usage: { output_tokens: 3 } };
      } finally {
        running -= 1;
      }
    },
  };
  const clerk = defineAgent({
    name: "clerk",
    purpose: "Asks the model.",
    chat: async (input, turn) => void (await turn.complete({ model, input })),
  });
  const host: TestHost = new TestHost({ agents: [clerk] });
  const before = usedBytes();
  let heapBytes = 0;
  const measure = (): void => {
    heapBytes = Math.max(heapBytes, usedBytes() - before);
  };
  const ids = Array.from({ length: turns }, (_, index) => `turn-${index}` as RequestId);
  for (const [index, request_id] of ids.entries()) {
    await host.ask("clerk", { type: "ChatRequest", input: "?", request_id });
    await host.environment.advance(ARRIVALS_MS / turns);
    if (index % Math.ceil(turns / 10) === 0) measure();
  }
  measure();
  for (let hour = 0; hour < hours; hour += 1) {
    if (hour === Math.floor(hours / 2)) {
      host.crash();
      // What the dead process left running is no attempt.
      running = 0;
      await host.restart();
    }
    await host.environment.advance(HOUR_MS);
    measure();
  }
  const attemptsWhileAway = attempts;
  isAway = false;
  most = 0;
  const left = new Set<string>(ids);
  for (let minute = 0; minute < 120 && left.size > 0; minute += 1) {
    await host.environment.advance(60 * SECOND_MS);
    for (const id of left) if ((await host.log.lookup(id))?.phase === "completed") left.delete(id);
    measure();
  }
  let answered = 0;
  for (const id of ids) if ((await host.runtime.status(id)).finish_reason === "success") answered += 1;
  await host.runtime.close();
  const peakPerSecond = Math.max(0, ...starts.values());
  return { turns, answered, peakPerSecond, most, attemptsWhileAway, heapBytes };
}

function usedBytes(): number {
  const { gc } = globalThis as { readonly gc?: () => void };
  gc?.();
  return process.memoryUsage().heapUsed;
}
